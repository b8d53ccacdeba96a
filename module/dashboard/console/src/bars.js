// A chart of units per day.

import { element, setText } from '../../src/element.js';
import * as format from '../../src/format.js';
import { numberTicks } from '../../src/ticks.js';

const dayName = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short', timeZone: 'UTC' });
const fullDay = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeZone: 'UTC' });
export const shortDay = day => dayName.format(new Date(day));
export const longDay = day => fullDay.format(new Date(day));
const height = 130;    // in pixels, as in page.css

// All days from the first to the last, such as 2026-11-23.
export function daysFrom(first, last) {
    const count = Math.round((Date.parse(last) - Date.parse(first)) / 86_400_000) + 1;
    return Array.from({ length: Math.max(0, count) }, (_, i) => new Date(Date.parse(first) + i * 86_400_000).toISOString().slice(0, 10));
}

// `values`: units by day, in the order of `days`. The chart is an image with a text; the same values are in a table.
export function barChart(title, days, values) {
    const most = Math.max(1, ...values);
    const total = values.reduce((sum, value) => sum + value, 0);
    const summary = `${format.count(total)} in ${days.length} days, at most ${format.count(Math.max(...values))} in a day`;
    const at = element('span', {}, summary);
    const top = most * 1.05;
    const lines = numberTicks([0, top], height).filter(Number.isInteger).map(value => {
        const line = element('div', { class: 'tick' }, element('span', {}, format.count(value)));
        line.style.bottom = `${100 * value / top}%`;
        return line;
    });
    const bars = values.map(value => {
        const bar = element('div', { class: 'bar' });
        // A day with units differs from one without.
        bar.style.height = value > 0 ? `max(2px, ${100 * value / top}%)` : '0';
        return bar;
    });
    const columns = element('div', { class: 'columns' }, ...bars);
    columns.addEventListener('pointermove', event => {
        const { left, width } = columns.getBoundingClientRect();
        const i = Math.max(0, Math.min(days.length - 1, Math.floor((event.clientX - left) / width * days.length)));
        for (const [j, bar] of bars.entries()) bar.toggleAttribute('data-pointed', i === j);
        setText(at, `${longDay(days[i])}: ${format.count(values[i])}`);
    });
    columns.addEventListener('pointerleave', () => {
        for (const bar of bars) bar.removeAttribute('data-pointed');
        setText(at, summary);
    });
    const plot = element('div', { class: 'bars', role: 'img', 'aria-label': `${title}: ${summary}` }, ...lines, columns);
    const ends = element('div', { class: 'ends', 'aria-hidden': 'true' },
        element('span', {}, shortDay(days[0])), element('span', {}, shortDay(days.at(-1))));
    return element('figure', {}, element('figcaption', {}, element('h4', {}, title), at), plot, ends, tableOf(title, days, values));
}

function tableOf(title, days, values) {
    const rows = days.map((day, i) => [day, values[i]]).filter(([, value]) => value > 0).reverse();
    return element('details', {}, element('summary', {}, 'As a table'),
        element('table', {}, element('caption', { class: 'unseen' }, title),
            element('thead', {}, element('tr', {}, element('th', { scope: 'col' }, 'Day (UTC)'), element('th', { scope: 'col' }, 'Granted'))),
            element('tbody', {}, ...rows.map(([day, value]) =>
                element('tr', {}, element('th', { scope: 'row' }, longDay(day)), element('td', {}, format.count(value)))))));
}
