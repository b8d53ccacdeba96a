// The usage and the history of an id.

import { element } from '../../src/element.js';
import * as format from '../../src/format.js';
import { barChart, daysFrom } from './bars.js';
import { linkToGroup } from './parts.js';
import { dayBefore, distance, momentOf } from './times.js';

// Elements for the body of GET keys/ID/usage: what its group has used limits an id as well. `none`: the text without any.
export function usageOf({ windows, in_flight: flights = [], group = null }, none = 'No plan table of this gateway counts this id.') {
    const all = [
        ...windows.map(one => windowOf(one)),
        ...(group?.windows ?? []).map(one => windowOf(one, ` of the group ${group.id}`)),
        ...flights.map(flightOf),
    ];
    const ofGroup = group ? [element('p', { class: 'hint' }, 'In the group ', linkToGroup(group.id))] : [];
    return all.length ? [element('ul', { class: 'meters' }, ...all), ...ofGroup] : [element('p', {}, none), ...ofGroup];
}

function meter(title, text, detail, share) {
    const fill = element('div');
    fill.style.width = `${100 * Math.min(1, share ?? 0)}%`;
    return element('li', { 'data-state': share >= 1 ? 'bad' : null },
        element('b', {}, title), element('span', { class: 'figure' }, text),
        element('div', { class: 'meter', 'aria-hidden': 'true' }, fill), element('span', { class: 'hint' }, detail));
}

// When a window ends, or a token bucket is full.
export function resetOf({ refill, used, reset }) {
    if (refill && used === 0) return 'the bucket is full';
    const when = `${distance(reset)}, at ${momentOf(reset)}`;
    return refill ? `the bucket gets ${refill} and is full ${when}` : `the window ends ${when}`;
}

function windowOf({ table, window, limit, used, remaining, ...rest }, whose = '') {
    const title = `${table}: ${window}${whose}`;
    const reset = resetOf({ used, ...rest });
    if (limit === null) return meter(title, `${format.count(used)} used`, `No limit is known; ${reset}.`, 0);
    const left = remaining > 0 ? `${format.count(remaining)} left` : 'Nothing is left';
    return meter(title, `${format.count(used)} of ${format.count(limit)} used`, `${left}; ${reset}.`, limit > 0 ? used / limit : 1);
}

const flightOf = ({ table, limit, places }) => meter(`${table}: in flight`,
    limit === null ? `${format.count(places)} places` : `${format.count(places)} of ${format.count(limit)} places`,
    'Requests that are under way.', limit ? places / limit : 0);

// The ends of so many days until today.
export const lastDays = count => ({ from: dayBefore(count - 1), to: dayBefore(0) });

// Elements for the body of GET keys/ID/history.
export function historyOf({ days }, { from, to }) {
    const tables = [...new Set(days.map(({ table }) => table))].sort();
    if (tables.length === 0) return [element('p', {}, 'Nothing was granted in these days, or no plan table has a history.')];
    const all = daysFrom(from, to);
    return tables.map(table => {
        const units = new Map(days.filter(one => one.table === table).map(one => [one.day, one.units]));
        return barChart(`Granted in ${table}`, all, all.map(day => units.get(day) ?? 0));
    });
}
