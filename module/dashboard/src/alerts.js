// The current problems, at the top of the page and in the tab's title.

import { element } from './element.js';
import * as format from './format.js';
import { workers } from './figures.js';

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
            const seen = point ? ` What is shown is of ${format.time(point.time)}.` : '';
            found.set('status', `The status can't be reached: ${failure}.${seen}`);
        } else {
            for (const one of point.redis.filter(one => one.open > 0)) {
                if (!this.since.has(one.name)) this.since.set(one.name, point.time);
                found.set(one.name, `Redis ${one.name} is out of reach ${workers(one)} since ${format.time(this.since.get(one.name))}.`);
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
