// The current alarms, at the top of the page and in the tab's title.

import { element, setText } from './element.js';
import * as format from './format.js';

export class Alerts {
    constructor(place) {
        this.place = place;
        this.since = new Map();    // of each alarm: { time, isFirst }, whether nothing is known of the time before
        this.isFirst = true;
        this.shown = '';
    }

    // `failure`: the reason why there is no status, or null. `point`: the last one with a status, or null.
    show(failure, point) {
        this.#noteBeginnings(failure === null ? point : null);
        const alerts = failure === null ? point.alarms.map(alarm => ({ ...alarm, text: this.#sentences(alarm) })) : [unread(failure, point)];
        const texts = alerts.map(({ text }) => text);
        if (texts.join('\n') !== this.shown) {
            this.shown = texts.join('\n');
            // A screen reader announces an alert once, and not each change of its numbers.
            this.place.replaceChildren(...texts.map(text =>
                element('p', { class: 'alert' }, text, element('span', { 'aria-live': 'off' }))));
            document.title = alerts.length ? `✕ ${alerts[0].title} – Tollgate` : 'Tollgate';
        }
        for (const [i, { detail }] of alerts.entries()) setText(this.place.children[i].querySelector('span'), detail ? ` ${detail}` : '');
    }

    #sentences({ key, title, extent, text }) {
        const { time, isFirst } = this.since.get(key);
        return `${title}${extent ? ` ${extent}` : ''} since ${format.timeInZone(time)}${isFirst ? ' or earlier' : ''}. ${text}`;
    }

    // `point`: null if there is no status, which may end all that is known.
    #noteBeginnings(point) {
        const keys = new Set(point?.alarms.map(({ key }) => key));
        for (const key of this.since.keys()) if (!keys.has(key)) this.since.delete(key);
        for (const key of keys) if (!this.since.has(key)) this.since.set(key, { time: point.time, isFirst: this.isFirst });
        this.isFirst = point === null;
    }
}

function unread(failure, point) {
    const title = 'The status can’t be read';
    return { title, text: `${title}: ${failure}.${point ? ` It was last read at ${format.timeInZone(point.time)}.` : ''}` };
}
