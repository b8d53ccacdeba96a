// The last ten minutes, as points.

import { alarmsOf } from './alarms.js';
import { pointOf } from './point.js';

export class History {
    // `span`: the age of the oldest point, in seconds. `window`: the time over which each point is a mean, in seconds.
    constructor({ span, window }) {
        this.span = span;
        this.window = window;
        this.points = [];
        this.statuses = [];
    }

    get last() {
        return this.points.at(-1);
    }

    add(status, time) {
        // nginx was restarted: its counters are not comparable with the earlier ones.
        if (this.statuses.length && this.statuses[0].status.started !== status.started) this.statuses = [];
        this.statuses.push({ status, time });
        while (this.statuses.length > 2 && this.statuses[1].time <= time - this.window) this.statuses.shift();
        const older = this.statuses.length > 1 ? this.statuses[0] : null;
        this.#append(pointOf(older, this.statuses.at(-1)));
    }

    // There was no status: plots show a gap here.
    addGap(time) {
        this.statuses = [];
        this.#append({ time, gap: true });
    }

    #append(point) {
        point.alarms = alarmsOf(point, this.last);
        this.points.push(point);
        while (this.points[0].time < point.time - this.span) this.points.shift();
    }
}
