// The last ten minutes, as points.

import { alarmsOf } from './alarms.js';
import { pointOf } from './point.js';

// A second has too few calls for a quantile: those of the window are shown, unless there are no calls now.
const withQuantiles = (one, { p50, p99, timed }) => one.timed > 0 ? { ...one, p50, p99, timed } : one;

export class History {
    // `span`: the age of the oldest point, in seconds. `window`: the time in seconds over which figures are means.
    constructor({ span, window }) {
        this.span = span;
        this.window = window;
        this.points = [];    // each is a mean of the time since the point before
        this.now = null;     // the point of the window that ends with the last status; null if there is none yet
        this.statuses = [];
    }

    add(status, time) {
        // nginx was restarted: its counters are not comparable with the earlier ones.
        if (this.statuses.length && this.statuses[0].status.start_time_seconds !== status.start_time_seconds) this.statuses = [];
        const before = this.statuses.at(-1) ?? null;
        this.statuses.push({ status, time });
        while (this.statuses.length > 2 && this.statuses[1].time <= time - this.window) this.statuses.shift();
        const newest = this.statuses.at(-1);
        const now = pointOf(this.statuses.length > 1 ? this.statuses[0] : null, newest);
        now.alarms = alarmsOf(now, this.now);
        this.now = now;
        const point = pointOf(before, newest);
        point.redis = point.redis.map((one, i) => withQuantiles(one, now.redis[i]));
        this.#append(point);
    }

    // There was no status: plots show a gap here.
    addGap(time) {
        this.statuses = [];
        this.#append({ time, gap: true });
    }

    #append(point) {
        point.alarms = alarmsOf(point, this.points.at(-1));
        this.points.push(point);
        while (this.points[0].time < point.time - this.span) this.points.shift();
    }
}
