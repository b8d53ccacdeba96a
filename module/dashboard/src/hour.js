// The last hour as the node has recorded it, which may have begun before the page was opened.

import { outcomes, outcomesOfTotals } from './outcomes.js';

const minute = 60;

// Titles of alarms that a minute had, by series.
const alarms = {
    unreachable: 'Redis was unreachable',
    degraded: 'Requests were granted without Redis',
    unavailable: 'Requests got 503',
    evictions: 'The zone evicted entries',
};

// Points from the `hour` of a status that was read at `time`: one for the end of each minute. Each has the means of its
// minute, or null if nobody recorded it. The first is the begin of the first minute.
export function hourPoints({ age, series }, time) {
    const minutes = series.granted.length;
    const pointAt = i => ({ time: time - age - minute * (minutes - 1 - i), requests: null, outcomes: {}, alarms: [] });
    const all = series.granted.map((known, i) => known === null ? pointAt(i) : { ...pointAt(i), ...valuesOf(series, i) });
    return minutes > 0 ? [pointAt(-1), ...all] : [];
}

function valuesOf(series, i) {
    const counts = outcomesOfTotals(Object.fromEntries(Object.entries(series).map(([name, values]) => [name, values[i]])));
    const rates = Object.fromEntries(outcomes.map(name => [name, counts[name] / minute]));
    return {
        requests: Object.values(rates).reduce((sum, rate) => sum + rate),
        outcomes: rates,
        alarms: Object.keys(alarms).filter(name => series[name][i] > 0).map(name => ({ title: alarms[name] })),
    };
}
