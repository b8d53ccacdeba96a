// Balances: units without a window, which last until they are spent.

import * as format from '../../src/format.js';
import { ApiError, keyPath } from './api.js';
import { dayBefore } from './times.js';

// The balances among the windows of a usage.
export const balancesOf = ({ windows }) => windows.filter(({ window }) => window === 'balance');

// "1,200 tokens". A unit such as `tokens` is a plural; it may be unknown.
export const unitsText = (count, unit) => `${format.count(count)} ${count === 1 ? (unit ?? 'units').replace(/s$/, '') : unit ?? 'units'}`;

// What is left of all credits. Below 0, requests have used more than they took.
export const leftText = (left, credited, unit) => left >= 0 ? `${format.count(left)} of ${unitsText(credited, unit)} left`
    : `nothing left of ${unitsText(credited, unit)}, and ${format.count(-left)} more used`;

const daysOfMean = 7;
// How far a history is read: a quiet week after older days has a mean of all its days.
const daysOfHistory = 30;

// The mean of the last complete days of a table as { perDay, days }, or null if nothing was granted. `history`: the days of
// GET keys/ID/history, which has none without units. Days before the first one do not count: the id may be new.
export function paceOf(history, table, now = Date.now()) {
    const complete = history.filter(one => one.table === table && one.day < dayBefore(0, now));
    const started = complete.map(({ day }) => day).sort()[0];
    const days = Array.from({ length: daysOfMean }, (_, i) => dayBefore(i + 1, now)).filter(day => day >= started);
    const units = complete.filter(({ day }) => days.includes(day)).reduce((sum, one) => sum + one.units, 0);
    return units > 0 ? { perDay: units / days.length, days: days.length } : null;
}

// The paces of balances of an id by their tables. `tables`: the plan tables, which tell which ones have a history.
export async function readPaces(api, id, balances, tables) {
    const named = balances.filter(({ table, remaining }) =>
        remaining > 0 && tables.some(({ name, history }) => name === table && history)).map(({ table }) => table);
    if (named.length === 0) return new Map();
    try {
        const { data } = await api.ask('GET', keyPath(id, '/history'), { query: { from: dayBefore(daysOfHistory) } });
        return new Map(named.map(table => [table, paceOf(data.days, table)]));
    } catch (error) {
        // The balance is shown without it, and the section of the history has the error.
        if (!(error instanceof ApiError)) throw error;
        return new Map();
    }
}

// How long so many units last: "at 1,200 a day, the mean of the last 7 days, it lasts about 12 days".
export function lastsText(left, { perDay, days }) {
    const hours = 24 * left / perDay;
    const lasts = hours < 1 ? 'less than an hour' : hours < 48 ? about(hours, 'hour')
        : hours < 24 * 3653 ? about(hours / 24, 'day') : 'more than 10 years';
    return `at ${format.rate(perDay)} a day, ${days === 1 ? 'as yesterday' : `the mean of the last ${days} days`}, it lasts ${lasts}`;
}

function about(time, unit) {
    const whole = Math.floor(time);
    return `about ${format.count(whole)} ${unit}${whole === 1 ? '' : 's'}`;
}
