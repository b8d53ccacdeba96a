// The usage and the history of an id.

import { element } from '../../src/element.js';
import * as format from '../../src/format.js';
import { lastsText, leftText, unitsText } from './balance.js';
import { barChart, daysFrom } from './bars.js';
import { linkToGroup } from './parts.js';
import { dayBefore, distance, momentOf } from './times.js';

// A window or a limit of requests in flight matters if so much of it is used.
const near = 0.8;

// Those that matter, the nearest to its limit first, and at least one; and the others. `share` is the part that is used.
export function byNearness(all) {
    const sorted = [...all].sort((one, other) => other.share - one.share);
    const end = Math.max(1, sorted.filter(({ share }) => share >= near).length);
    // A single one is not worth a click.
    return sorted.length - end <= 1 ? [sorted, []] : [sorted.slice(0, end), sorted.slice(end)];
}

// Elements for the body of GET keys/ID/usage: what its group has used limits an id as well. `none`: the text without any.
// `paces`: how fast the balances of a table are spent, as paceOf() tells.
export function usageOf({ windows, in_flight: flights = [], group = null },
    { none = 'No plan table of this gateway counts this id.', paces = new Map() } = {}) {
    const [first, others] = byNearness([
        ...windows.map(one => windowOf(one, '', paces.get(one.table))),
        ...(group?.windows ?? []).map(one => windowOf(one, ` of the group ${group.id}`)),
        ...flights.map(flightOf),
    ]);
    return [
        ...first.length ? [list(first)] : [element('p', {}, none)],
        ...others.length ? [element('details', {}, element('summary', {}, `${others.length} others, further from their limits`), list(others))] : [],
        ...group ? [element('p', { class: 'hint' }, 'In the group ', linkToGroup(group.id))] : [],
    ];
}

const list = all => element('ul', { class: 'meters' }, ...all.map(meter));
const width = share => `${100 * Math.max(0, Math.min(1, share))}%`;

function meter({ title, text, detail, share, leased = 0 }) {
    const [fill, ofLeases] = [element('div'), element('div', { class: 'leased' })];
    fill.style.width = width(share - leased);
    ofLeases.style.width = width(Math.min(leased, 1 - share + leased));
    return element('li', { 'data-state': share >= 1 ? 'bad' : null },
        element('b', {}, title), element('span', { class: 'figure' }, text),
        element('div', { class: 'meter', 'aria-hidden': 'true' }, fill, ofLeases), element('span', { class: 'hint' }, detail));
}

// When a window ends, or a token bucket is full.
export function resetOf({ refill, used, reset }) {
    if (reset === null) return 'it has no end';
    if (refill && used === 0) return 'the bucket is full';
    const when = `${distance(reset)}, at ${momentOf(reset)}`;
    return refill ? `the bucket gets ${refill} and is full ${when}` : `the window ends ${when}`;
}

// A window as meter() shows it. What nodes have leased is told apart from what is used, as far as Redis knows it.
export function windowOf(counts, whose = '', pace = null) {
    const { table, unit, window, limit, unlimited, soft, used, leased = 0, remaining, ...rest } = counts;
    const title = `${table}: ${window}${whose}`;
    if (window === 'balance') return { title, ...balanceOf(counts, pace) };
    const reset = resetOf({ used, ...rest });
    const units = unit && unit !== 'requests' ? ` ${unit}` : '';
    const spent = `${leased > 0 ? 'at least ' : ''}${format.count(Math.max(0, used - leased))}`;
    const ofLeases = leased > 0 ? `up to ${format.count(leased)} more are leased to nodes; ` : '';
    if (limit === null) {
        const text = `${spent}${units} used${unlimited ? ', unlimited' : ''}`;
        return { title, text, detail: capital(`${ofLeases}${unlimited ? '' : 'the limit is not known here; '}${reset}.`), share: -1 };
    }
    const over = used - limit;
    const left = remaining > 0 ? `${format.count(remaining)} left` : soft && over > 0 ? `${format.count(over)} beyond the soft limit` : 'nothing is left';
    return {
        title, text: `${spent} of ${format.count(limit)}${units} used`, detail: capital(`${ofLeases}${left}; ${reset}.`),
        share: limit > 0 ? used / limit : 1, leased: limit > 0 ? leased / limit : 0,
    };
}

// A balance has a rest in place of an end. What nodes have leased is not in the rest; they return what they do not spend.
function balanceOf({ unit, limit, used, leased = 0, remaining }, pace) {
    const ofLeases = leased > 0 ? `up to ${format.count(leased)} more are leased to nodes; ` : '';
    return {
        text: `${leased > 0 ? 'at least ' : ''}${leftText(remaining, limit, unit)}`,
        detail: capital(`${ofLeases}${restOf({ unit, limit, used, remaining }, pace)}.`),
        share: limit > 0 ? used / limit : 1, leased: limit > 0 ? leased / limit : 0,
    };
}

function restOf({ unit, limit, used, remaining }, pace) {
    if (remaining > 0) return pace ? lastsText(remaining, pace) : 'what is left does not expire';
    if (used <= limit) return limit === 0 ? 'nothing was credited' : 'nothing is granted until it is credited';
    const [was, it] = used - limit === 1 ? ['was', 'it'] : ['were', 'them'];
    return `${unitsText(used - limit, unit)} more ${was} used than credited: the next credit pays for ${it}`;
}

const capital = text => text[0].toUpperCase() + text.slice(1);

const flightOf = ({ table, limit, places }) => ({
    title: `${table}: in flight`,
    text: limit === null ? `${format.count(places)} places` : `${format.count(places)} of ${format.count(limit)} places`,
    detail: 'Requests that are under way.', share: limit ? places / limit : -1,
});

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
