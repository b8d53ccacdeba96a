// The current problems, at the top of the page and in the tab's title.

import { element } from './element.js';
import * as format from './format.js';
import { workers } from './figures.js';

// In a cluster, one unreachable master does not concern the keys of the others.
function outOfReach(one) {
    const away = one.masters.filter(master => !master.reachable).length;
    return away > 0 && away < one.masters.length
        ? `${away} of ${one.masters.length} masters of Redis ${one.name} are out of reach` : `Redis ${one.name} is out of reach`;
}

export class Alerts {
    constructor(place) {
        this.place = place;
        this.since = new Map();
        this.shown = '';
    }

    // `failure`: the reason why there is no status, or null.
    show(failure, point) {
        const found = new Map();
        if (failure !== null) {
            const seen = point ? ` It was last read at ${format.time(point.time)}.` : '';
            found.set('status', `The status can’t be read: ${failure}.${seen}`);
        } else {
            for (const one of point.redis.filter(one => one.open > 0)) {
                if (!this.since.has(one.name)) this.since.set(one.name, point.time);
                found.set(one.name, `${outOfReach(one)} ${workers(one)} since ${format.time(this.since.get(one.name))}.`);
            }
            for (const name of this.since.keys()) if (!found.has(name)) this.since.delete(name);
        }
        const texts = [...found.values()];
        if (texts.join('\n') === this.shown) return;
        this.shown = texts.join('\n');
        this.place.replaceChildren(...texts.map(text => element('p', { class: 'alert' }, text)));
        document.title = texts.length ? `✕ ${texts[0].split(/ for |:/)[0]} – Tollgate` : 'Tollgate';
    }
}
