// The tables at the bottom: all data of the plots as text, and more.

import { workers } from './alarms.js';
import { element, setText } from './element.js';
import * as format from './format.js';
import { planName } from './point.js';

// A column: its heading, its text for a row, and other properties of its cells.
const column = (heading, text, options = {}) => ({ heading, text, ...options });
const asText = { class: 'text' };

const tables = [
    {
        caption: 'Redis',
        width: 'wide',
        rows: point => point.redis,
        columns: [
            column('Name', row => row.name),
            column('State', row => row.open ? `✕ unreachable ${workers(row)}` : '✓ reachable',
                { class: 'text', state: row => row.open ? 'bad' : 'good' }),
            column('p50', row => format.duration(row.p50)),
            column('p99', row => format.duration(row.p99)),
            column('of calls', row => format.count(row.timed)),
            column('Calls/s', row => format.rate(row.calls)),
            column('Errors/s', row => format.rate(row.errors)),
            column('Reconnects', row => format.count(row.reconnects)),
            column('Subscribed', row => `${row.subscribed} of ${row.workers}`),
            column('Decided/s: by Redis', row => format.rate(row.decisions.redis)),
            column('by lease', row => format.rate(row.decisions.lease)),
            column('by refusal', row => format.rate(row.decisions.refusal)),
            column('alone', row => format.rate(row.decisions.alone)),
            column('Owed', row => format.count(row.owed)),
        ],
    },
    {
        caption: 'Masters',
        hiddenIfEmpty: true,
        rows: point => point.redis.flatMap(one => one.masters.map(master => ({ ...one, ...master }))),
        columns: [
            column('Redis', row => row.name),
            column('Address', row => row.address, asText),
            column('State', row => row.reachable ? '✓ reachable' : '✕ unreachable',
                { class: 'text', state: row => row.reachable ? 'good' : 'bad' }),
            column('Slots', row => row.slots === undefined ? '–' : format.count(row.slots)),
            column('Age of the map', row => row.mapAge === undefined ? '–' : format.uptime(row.mapAge)),
            column('Failovers', row => format.count(row.failovers)),
            column('Redirected/s', row => format.rate(row.redirections)),
            column('TLS: new', row => format.count(row.newSessions)),
            column('resumed', row => format.count(row.resumedSessions)),
        ],
    },
    {
        caption: 'Plans',
        rows: point => point.plans,
        columns: [
            column('Plan', planName),
            // A phone shows the first columns.
            column('Refused/s', row => format.rate(row.refused)),
            column('Refused', row => format.percentSign(row.requests > 0 ? row.refused / row.requests : null)),
            column('Requests/s', row => format.rate(row.requests)),
            column('Granted/s', row => format.rate(row.outcomes.granted)),
            column('Refused in dry run/s', row => row.dryRun ? format.rate(row.wouldRefuse) : '–'),
            column('Since start', row => format.count(row.total)),
            // A table that was removed has none.
            column('Units', row => row.unit || '–', asText),
        ],
    },
    {
        caption: 'Zone',
        rows: point => point.zone,
        columns: [
            column('Table', row => row.name),
            column('Used', row => format.count(row.used)),
            column('Places', row => format.count(row.size)),
            column('Use', row => `${format.percentSign(row.use)}${row.fillsUp && row.use > 0.9 ? ' (normal)' : ''}`),
            column('Evictions/s', row => format.rate(row.evictions)),
        ],
    },
];

export class Tables {
    constructor(place) {
        this.bodies = tables.map(({ caption, columns, width }) => {
            const body = element('tbody');
            const head = columns.map(one => element('th', { scope: 'col', class: one.class }, one.heading));
            place.append(element('div', { class: `table ${width ?? ''}` }, element('table', {},
                element('caption', {}, caption), element('thead', {}, element('tr', {}, ...head)), body)));
            return body;
        });
    }

    show(point) {
        for (const [i, { rows, columns, hiddenIfEmpty }] of tables.entries()) {
            const found = rows(point);
            fill(this.bodies[i], found, columns);
            this.bodies[i].closest('.table').hidden = hiddenIfEmpty && found.length === 0;
        }
    }
}

function fill(body, rows, columns) {
    while (body.rows.length > rows.length) body.deleteRow(-1);
    while (body.rows.length < rows.length) {
        body.append(element('tr', {}, ...columns.map((one, i) =>
            i ? element('td', { class: one.class }) : element('th', { scope: 'row', class: one.class }))));
    }
    for (const [i, row] of rows.entries()) {
        for (const [j, one] of columns.entries()) {
            const cell = body.rows[i].cells[j];
            setText(cell, one.text(row));
            if (one.state) cell.dataset.state = one.state(row);
        }
    }
}
