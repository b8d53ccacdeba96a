// The canvas of a plot: lines or stacked areas over time. Chart.js draws them.

import { Chart, Filler, LinearScale, LineController, LineElement, PointElement } from 'chart.js';
import * as format from './format.js';
import { stepsOf } from './steps.js';
import { colour, dashes, patternOf, patternPath, patternSize } from './style.js';
import { exponentTicks, numberTicks, timeTicks } from './ticks.js';

Chart.register(Filler, LinearScale, LineController, LineElement, PointElement);

const font = { family: 'system-ui, sans-serif', size: 12 };

export class TimeChart {
    // See Plot for the members of `options`. `onPoint` receives the position of the pointer as a fraction of the time
    // axis, or null if the pointer is not over the chart.
    constructor(place, options, onPoint) {
        this.place = place;
        this.options = options;
        this.share = null;
        this.canvas = document.createElement('canvas');
        this.canvas.addEventListener('mousemove', event => onPoint(this.#shareAt(event.offsetX, event.offsetY)));
        this.canvas.addEventListener('mouseleave', () => onPoint(null));
        place.append(this.canvas);
        new ResizeObserver(() => this.#fit()).observe(place);
    }

    // Shows other series, or the same series in the current colours. `points` and `series` are those of Plot.
    draw(points, series) {
        this.#take(points, series);
        this.chart?.destroy();
        Object.assign(this.canvas, this.#size());
        this.chart = new Chart(this.canvas, {
            type: 'line',
            data: { datasets: series.map((one, i) => ({ ...this.#look(one, i), data: this.data[i] })) },
            options: this.#chartOptions(),
            plugins: [{ id: 'tollgate', beforeDraw: chart => this.#markAlarms(chart), afterDatasetsDraw: chart => this.#drawPointer(chart) }],
        });
    }

    // Shows newer values of the series.
    update(points, series) {
        this.#take(points, series);
        for (const [i, dataset] of this.chart.data.datasets.entries()) dataset.data = this.data[i];
        // There is no event for a window that moves to a screen with another pixel ratio.
        this.#fit();
        this.chart.update('none');
    }

    // Marks a time: see `onPoint`.
    point(share) {
        if (share === this.share) return;
        this.share = share;
        this.chart?.draw();
    }

    // The index of the point whose time is marked, or null.
    get pointed() {
        if (this.share === null) return null;
        const [from, to] = this.#times();
        const index = this.points.findIndex(point => point.time >= from + this.share * (to - from));
        return index < 0 ? this.points.length - 1 : index;
    }

    // Areas become cumulative sums. On a logarithmic axis, values become their logarithms.
    #take(points, series) {
        const { stacked, log, range } = this.options;
        this.points = points;
        const sums = points.map(() => 0);
        const values = series.map(one => one.values.map((value, i) =>
            value === null || log && value <= 0 ? null : stacked ? (sums[i] += value) : value));
        const known = values.flat().filter(value => value !== null);
        const scaled = value => log && value !== null ? Math.log10(value) : value;
        this.range = range(...known.length ? [Math.min(...known), Math.max(...known)] : []).map(scaled);
        this.data = values.map(one => stepsOf(points, one.map(scaled)));
    }

    // At least two minutes; grows to the whole span.
    #times() {
        const last = this.points.at(-1)?.time ?? Date.now() / 1000;
        const first = this.points[0]?.time ?? last;
        return [Math.max(last - this.options.span, Math.min(first, last - 120)), last];
    }

    #size() {
        return { width: this.place.clientWidth, height: this.place.clientHeight };
    }

    #fit() {
        const { width, height } = this.#size();
        this.chart?.resize(width, height);
    }

    // Chart.js draws the last dataset of the order first. In a stack, whose values are sums, each area therefore covers
    // the lower part of the area above it. Areas have no borders: between seconds, these would cover them. Of lines, the
    // last one is on top.
    #look(one, i) {
        return this.options.stacked
            ? { fill: 'start', backgroundColor: this.#filling(one), borderWidth: 0 }
            : { borderColor: colour(one.colour), borderWidth: 2, borderDash: dashes[one.style], order: -i };
    }

    // The colour of an area, with its pattern.
    #filling(one) {
        const tile = document.createElement('canvas');
        tile.width = tile.height = patternSize;
        const context = tile.getContext('2d');
        context.fillStyle = colour(one.colour);
        context.fillRect(0, 0, patternSize, patternSize);
        context.strokeStyle = colour('card');
        context.lineWidth = 2;
        context.stroke(new Path2D(patternPath(patternOf(one.style), patternSize, patternSize)));
        return context.createPattern(tile, 'repeat');
    }

    #chartOptions() {
        const { log } = this.options;
        const axis = (position, { range, length, ticks, labels, size }) => ({
            type: 'linear',
            position,
            bounds: 'data',
            afterDataLimits: scale => [scale.min, scale.max] = range(),
            afterBuildTicks: scale => scale.ticks = ticks([scale.min, scale.max], length(scale)).map(value => ({ value })),
            // Labels extend into the padding of the layout.
            afterFit: scale => Object.assign(scale, size),
            grid: { color: colour('line'), drawBorder: false, drawTicks: false },
            border: { display: false },
            ticks: {
                color: colour('muted'), font, padding: 5, autoSkip: false, maxRotation: 0,
                callback: (_, i, all) => labels(all.map(({ value }) => value))[i],
            },
        });
        return {
            responsive: false, maintainAspectRatio: false, animation: false, events: [], parsing: false, normalized: true,
            layout: { padding: { top: 8, right: 28 }, autoPadding: false },
            elements: { point: { radius: 0 }, line: { borderJoinStyle: 'round' } },
            scales: {
                x: axis('bottom', {
                    range: () => this.#times(),
                    length: scale => scale.width,
                    ticks: timeTicks,
                    labels: format.times,
                    size: { height: 26, paddingLeft: 0, paddingRight: 0 },
                }),
                y: axis('left', {
                    range: () => this.range,
                    length: scale => scale.height,
                    ticks: log ? exponentTicks : numberTicks,
                    labels: values => values.map(value => this.options.format(log ? 10 ** value : value)),
                    size: { width: 58, paddingTop: 0, paddingBottom: 0 },
                }),
            },
        };
    }

    #shareAt(x, y) {
        const { left, right, top, bottom } = this.chart?.chartArea ?? {};
        return x >= left && x <= right && y >= top && y <= bottom ? (x - left) / (right - left) : null;
    }

    // A bar above the times with an alarm.
    #markAlarms({ ctx, chartArea, scales }) {
        ctx.fillStyle = colour('bad');
        for (const [i, point] of this.points.entries()) {
            if (point.alarms.length === 0) continue;
            const left = Math.max(chartArea.left, scales.x.getPixelForValue(this.points[i - 1]?.time ?? point.time - 1));
            ctx.fillRect(left, chartArea.top - 6, Math.ceil(scales.x.getPixelForValue(point.time) - left), 4);
        }
    }

    // A line at the marked time.
    #drawPointer({ ctx, chartArea }) {
        if (this.share === null) return;
        const x = Math.round(chartArea.left + this.share * chartArea.width) - 0.5;
        ctx.save();
        ctx.strokeStyle = colour('muted');
        ctx.setLineDash([3, 3]);
        ctx.beginPath();
        ctx.moveTo(x, chartArea.top);
        ctx.lineTo(x, chartArea.bottom);
        ctx.stroke();
        ctx.restore();
    }
}
