// One plot of the last ten minutes, with its heading and its legend.

import { TimeChart } from './chart.js';
import { element, setText } from './element.js';
import { emptyText } from './empty_text.js';
import * as format from './format.js';
import { colour, dashes, patternOf, patternPath } from './style.js';

export class Plot {
    // `title`; `span` in seconds; `stacked`; `format` of a value; `range`: returns the ends of the axis for the minimum
    // and the maximum of the values, which are undefined if there are no values; `log`; `empty`: the text if it is
    // known that there are no values. For `onPoint` see TimeChart.
    constructor(place, options, onPoint) {
        this.options = options;
        this.keys = '';
        this.at = element('span');
        this.canvas = element('div', { class: 'canvas', role: 'img' });
        this.empty = element('p', { class: 'empty' });
        this.legend = element('ul', { class: 'legend' });
        place.append(element('figure', {},
            element('figcaption', {}, element('h2', {}, options.title), this.at), this.canvas, this.legend));
        this.chart = new TimeChart(this.canvas, options, onPoint);
        this.canvas.append(this.empty);
    }

    // `series`: { key, label, colour, style, values, notes }. `style` is the index of dashes and of a pattern. The values
    // are in the order of the points; so are the notes, texts that follow the values, if there are any.
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
        const fill = colour(one.colour);
        const shapes = this.options.stacked
            ? [{ d: 'M0 0h18v10h-18z', fill }, { d: patternPath(patternOf(one.style), 18, 10), stroke: colour('card'), 'stroke-width': 2 }]
            : [{ d: 'M0 5h18', stroke: fill, 'stroke-width': 2.5, 'stroke-dasharray': dashes[one.style].join(' ') }];
        const space = 'http://www.w3.org/2000/svg';
        const svg = document.createElementNS(space, 'svg');
        svg.setAttribute('aria-hidden', 'true');
        for (const attributes of shapes) {
            const path = document.createElementNS(space, 'path');
            for (const [name, value] of Object.entries(attributes)) path.setAttribute(name, value);
            svg.append(path);
        }
        return svg;
    }

    // In the legend: the values at the pointer, or else the last ones. In the heading: the time at the pointer and its
    // alarms.
    #showValues() {
        const { pointed } = this.chart;
        const index = pointed ?? this.points.length - 1;
        setText(this.at, pointed === null ? ''
            : [format.time(this.points[index].time), ...this.points[index].alarms.map(({ title }) => title)].join(' · '));
        const values = this.series.map(one => this.options.format(one.values[index] ?? null) + (one.notes?.[index] ?? ''));
        for (const [i, value] of values.entries()) setText(this.legend.children[i].querySelector('b'), value);
        const text = this.series.map((one, i) => `${one.label} ${values[i]}`).join(', ');
        const empty = emptyText(this.points, this.options.empty);
        setText(this.empty, empty);
        this.canvas.setAttribute('aria-label', `${this.options.title}: ${text || empty}`);
    }
}
