// One plot of the last ten minutes, with its heading and its legend.

import { TimeChart } from './chart.js';
import { element, setText } from './element.js';
import * as format from './format.js';
import { colour, dashes } from './style.js';

export class Plot {
    // `title`; `span` in seconds; `stacked`; `format` of a value; `range`: returns the ends of the axis for the minimum
    // and the maximum of the values, which are undefined if there are no values; `log`; `empty`: the text if there are
    // no values; `shade`: whether the background of a point shows an alarm. For `onPoint` see TimeChart.
    constructor(place, options, onPoint) {
        this.options = options;
        this.keys = '';
        this.at = element('span');
        this.canvas = element('div', { class: 'canvas', role: 'img' });
        this.empty = element('p', { class: 'empty' }, options.empty);
        this.legend = element('ul', { class: 'legend' });
        place.append(element('figure', {},
            element('figcaption', {}, element('h2', {}, options.title), this.at), this.canvas, this.legend));
        this.chart = new TimeChart(this.canvas, options, onPoint);
        this.canvas.append(this.empty);
    }

    // `series`: { key, label, colour, dash, values }. `dash` is the index of a line style. The values are in the order
    // of the points.
    show(points, series) {
        // While the page is paused, the history continues.
        this.points = [...points];
        this.series = series;
        const keys = JSON.stringify(series.map(one => one.key));
        if (keys !== this.keys) {
            this.keys = keys;
            this.redraw();
        } else {
            this.chart.update(this.points, this.series);
            this.#showValues();
        }
    }

    // Redraws with the current colours.
    redraw() {
        if (!this.series) return;
        this.chart.draw(this.points, this.series);
        this.legend.replaceChildren(...this.series.map(one =>
            element('li', {}, this.#sample(one), one.label, element('b'))));
        this.empty.hidden = this.series.length > 0;
        this.#showValues();
    }

    // Marks a time, and shows the values at it: see TimeChart.
    point(share) {
        if (!this.series) return;
        this.chart.point(share);
        this.#showValues();
    }

    // A sample of the line or the area, for the legend.
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

    // In the legend: the values at the pointer, or else the last ones.
    #showValues() {
        const { pointed } = this.chart;
        const index = pointed ?? this.points.length - 1;
        setText(this.at, pointed === null ? '' : format.time(this.points[index].time));
        const values = this.series.map(one => this.options.format(one.values[index] ?? null));
        for (const [i, value] of values.entries()) setText(this.legend.children[i].querySelector('b'), value);
        const text = this.series.map((one, i) => `${one.label} ${values[i]}`).join(', ');
        this.canvas.setAttribute('aria-label', `${this.options.title}: ${text || this.options.empty}`);
    }
}
