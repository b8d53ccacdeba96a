// The plots and their contents.

import * as format from './format.js';
import { outcomes, refused } from './outcomes.js';
import { planName } from './point.js';
import { Plot } from './plot.js';
import { planStyles } from './plan_styles.js';
import { leastCount } from './quantile.js';

const upFromZero = least => (_, most) => [0, Math.max(least, (most ?? 0) * 1.1)];
// Whole powers of ten that enclose all values.
const aroundDecades = (least, most) => least > 0 && most > 0
    ? [10 ** Math.floor(Math.log10(least)), 10 ** Math.ceil(Math.log10(most * 1.01))]
    : [1e-4, 1e-2];

// A line: `value` of each point, null if there is none. `style` is the index of its dashes, its pattern, and its colour
// unless `colour` is set.
const line = (points, key, label, { colour, style = 0 }, value) => ({
    key,
    label,
    colour: colour ?? `series-${style + 1}`,
    style,
    values: points.map(point => point.gap ? null : value(point) ?? null),
});
const styles = 6;
const hasAny = ({ values }) => values.some(value => value > 0);
const latest = (points, member) => points.findLast(point => !point.gap)?.[member] ?? [];

const outcomeLines = names => points => names
    .map((name, style) => line(points, name, name, { colour: name.replaceAll(' ', '-'), style }, point => point.outcomes[name]))
    .filter(hasAny);

function planLines(points) {
    const rows = latest(points, 'plans');
    const named = planStyles(rows, styles);
    const requests = (point, isMeant) => point.requests === null ? null
        : point.plans.reduce((sum, plan) => sum + (isMeant(plan.key) ? plan.requests : 0), 0);
    // Neighbours in the stack have neighbouring styles.
    const shown = rows.filter(({ key }) => named.has(key)).sort((a, b) => named.get(a.key) - named.get(b.key));
    const lines = shown.map(({ key, tables, plan }) =>
        line(points, key, planName({ tables, plan }), { style: named.get(key) },
            point => requests(point, one => one === key)));
    const others = line(points, '', 'others', { colour: 'series-others', style: styles },
        point => requests(point, one => !named.has(one)));
    return [...lines, others].filter(hasAny);
}

function roundTripLines(points) {
    const all = latest(points, 'redis');
    return all.flatMap(({ name }, i) => ['p50', 'p99'].map((quantile, j) => {
        const style = { style: (2 * i + j) % styles };
        const of = member => point => point.redis.find(one => one.name === name)?.[member];
        return {
            ...line(points, `${name} ${quantile}`, all.length > 1 ? `${name} ${quantile}` : quantile, style, of(quantile)),
            notes: points.map(point => point.gap ? '' : ` of ${format.count(of('timed')(point))} calls`),
        };
    })).filter(hasAny);
}

const knownLines = points => [line(points, 'known', 'of all keys', {}, point => point.knownShare)]
    .filter(({ values }) => values.some(value => value !== null));

// Omits tables that are full in normal use.
const zoneLines = points => latest(points, 'zone').filter(store => !store.fillsUp).map(({ name }, i) =>
    line(points, name, name, { style: i % styles }, point => point.zone.find(store => store.name === name)?.use))
    .filter(hasAny);

const plots = [
    { title: 'Requests a second by outcome', lines: outcomeLines(outcomes), empty: 'No requests',
      stacked: true, format: format.rate, range: upFromZero(1) },
    { title: 'Requests a second by plan', lines: planLines, empty: 'No requests',
      stacked: true, format: format.rate, range: upFromZero(1) },
    { title: 'Refused a second', lines: outcomeLines(refused), empty: 'Nothing was refused',
      format: format.rate, range: upFromZero(1) },
    { title: 'Redis round trip', lines: roundTripLines, empty: `Fewer than ${leastCount} calls at any time`,
      format: format.duration, range: aroundDecades, log: true },
    { title: 'Keys without a look-up', lines: knownLines, empty: 'No keys',
      format: format.percentSign, range: () => [0, 1] },
    { title: 'Zone use', lines: zoneLines, empty: 'The zone is empty',
      format: format.percentSign, range: upFromZero(0.01) },
];

export class Plots {
    constructor(place, span) {
        // The pointer marks the same time in all plots.
        const point = share => this.all.forEach(({ plot }) => plot.point(share));
        this.all = plots.map(options => ({ options, plot: new Plot(place, { ...options, span }, point) }));
    }

    show(points) {
        for (const { options, plot } of this.all) plot.show(points, options.lines(points));
    }

    redraw() {
        for (const { plot } of this.all) plot.redraw();
    }
}

// The plot of the last hour; see hourPoints.
export class HourPlot {
    constructor(place) {
        const options = { ...plots[0], title: 'The last hour: requests a second by outcome', span: 3600 };
        this.lines = options.lines;
        this.plot = new Plot(place, options, share => this.plot.point(share));
    }

    show(points) {
        this.plot.show(points, this.lines(points));
    }

    redraw() {
        this.plot.redraw();
    }
}
