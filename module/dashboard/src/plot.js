// One plot of the last ten minutes, with its heading and its legend.

import uPlot from 'uplot';
import { element, setText } from './element.js';
import * as format from './format.js';

const pointers = uPlot.sync('time');
const dashes = [[], [7, 3], [2, 3], [9, 3, 2, 3], [4, 4], [12, 3, 2, 3, 2, 3]];

const colour = name => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();

// The powers of ten on an axis.
const decades = (plot, axis, least, most) => {
    const exponents = [];
    for (let i = Math.round(Math.log10(least)); i <= Math.round(Math.log10(most)); i++) exponents.push(i);
    return exponents.map(exponent => 10 ** exponent);
};

export class Plot {
    // `title`, `span` (seconds), `stacked`, `format` of a value, `range` of the values as uPlot has it, `log`; `empty`:
    // what to say where there is nothing; `shade`: whether a point's background is one of alarm.
    constructor(place, options) {
        this.options = options;
        this.keys = '';
        this.at = element('span');
        this.canvas = element('div', { class: 'canvas', role: 'img' });
        this.empty = element('p', { class: 'empty' }, options.empty);
        this.legend = element('ul', { class: 'legend' });
        this.canvas.append(this.empty);
        place.append(element('figure', {},
            element('figcaption', {}, element('h2', {}, options.title), this.at), this.canvas, this.legend));
        new ResizeObserver(() => this.uplot?.setSize(this.#size())).observe(this.canvas);
    }

    // `series`: { key, label, colour, dash, values }; `dash` is the number of a way to draw a line, values are in the
    // order of the points.
    show(points, series) {
        this.points = points;
        this.series = series;
        const keys = JSON.stringify(series.map(one => one.key));
        if (keys !== this.keys) {
            this.keys = keys;
            this.redraw();
        } else {
            this.uplot.setData(this.#data());
            this.#showValues();
        }
    }

    // Anew, with the colours that hold now.
    redraw() {
        if (!this.series) return;
        this.uplot?.destroy();
        this.uplot = new uPlot(this.#uplotOptions(), this.#data(), this.canvas);
        this.legend.replaceChildren(...this.series.map(one =>
            element('li', {}, this.#sample(one), one.label, element('b'))));
        this.empty.hidden = this.series.length > 0;
        this.#showValues();
    }

    // A stack is drawn from its top to its bottom: each area hides the rest of the one before it.
    #data() {
        const times = this.points.map(point => point.time);
        if (!this.options.stacked) return [times, ...this.series.map(one => one.values)];
        const sums = times.map(() => 0);
        const areas = this.series.map(one => one.values.map((value, i) => value === null ? null : (sums[i] += value)));
        return [times, ...areas.reverse()];
    }

    #size() {
        return { width: this.canvas.clientWidth, height: this.canvas.clientHeight };
    }

    // Two minutes at least, and then more until it is the whole span.
    #times() {
        const last = this.points.at(-1)?.time ?? Date.now() / 1000;
        const first = this.points[0]?.time ?? last;
        return [Math.max(last - this.options.span, Math.min(first, last - 120)), last];
    }

    #uplotOptions() {
        const { stacked, log, range, shade } = this.options;
        const series = this.series.map(one => stacked
            ? { stroke: colour('card'), width: 0.5, fill: colour(one.colour), points: { show: false } }
            : { stroke: colour(one.colour), width: 2, dash: dashes[one.dash], points: { show: false } });
        const axis = {
            stroke: colour('muted'),
            font: '12px system-ui, sans-serif',
            grid: { stroke: colour('line'), width: 1 },
            ticks: { show: false },
        };
        return {
            ...this.#size(),
            padding: [8, 28, 0, 0],
            legend: { show: false },
            cursor: { sync: { key: pointers.key }, drag: { x: false, y: false }, y: false, points: { show: !stacked } },
            scales: {
                x: { time: true, range: () => this.#times() },
                y: { range, distr: log ? 3 : 1 },
            },
            axes: [
                { ...axis, size: 26, space: 80, incrs: [30, 60, 120, 300], values: (_, times) => format.times(times) },
                { ...axis, size: 58, splits: log ? decades : undefined, values: (_, values) => values.map(value => value === null ? '' : this.options.format(value)) },
            ],
            series: [{}, ...(stacked ? series.reverse() : series)],
            hooks: {
                drawClear: shade ? [plot => this.#shade(plot)] : [],
                setCursor: [() => this.#showValues()],
            },
        };
    }

    #shade(plot) {
        const { ctx, bbox } = plot;
        ctx.save();
        ctx.fillStyle = colour('bad-card');
        for (const [i, point] of this.points.entries()) {
            if (!this.options.shade(point)) continue;
            const left = plot.valToPos(this.points[i - 1]?.time ?? point.time - 1, 'x', true);
            ctx.fillRect(left, bbox.top, Math.ceil(plot.valToPos(point.time, 'x', true) - left), bbox.height);
        }
        ctx.restore();
    }

    // A piece of the line, or of the area, for the legend.
    #sample(one) {
        const space = 'http://www.w3.org/2000/svg';
        const svg = document.createElementNS(space, 'svg');
        const shape = document.createElementNS(space, this.options.stacked ? 'rect' : 'line');
        const attributes = this.options.stacked
            ? { width: 18, height: 10, rx: 2, fill: colour(one.colour) }
            : { x1: 0, x2: 18, y1: 5, y2: 5, stroke: colour(one.colour), 'stroke-width': 2.5, 'stroke-dasharray': dashes[one.dash].join(' ') };
        for (const [name, value] of Object.entries(attributes)) shape.setAttribute(name, value);
        svg.setAttribute('aria-hidden', 'true');
        svg.append(shape);
        return svg;
    }

    // In the legend: the values where the pointer is, or else the last ones.
    #showValues() {
        const pointed = this.uplot?.cursor.idx;
        const index = pointed ?? this.points.length - 1;
        setText(this.at, pointed === null || pointed === undefined ? '' : format.time(this.points[index].time));
        const values = this.series.map(one => this.options.format(one.values[index] ?? null));
        for (const [i, value] of values.entries()) setText(this.legend.children[i].querySelector('b'), value);
        const text = this.series.map((one, i) => `${one.label} ${values[i]}`).join(', ');
        this.canvas.setAttribute('aria-label', `${this.options.title}: ${text || this.options.empty}`);
    }
}
