// The dashboard: requests tollgate_status once a second and shows it.

import { Alerts } from './alerts.js';
import { setText } from './element.js';
import { clearFigures, showFigures } from './figures.js';
import * as format from './format.js';
import { History } from './history.js';
import { hourPoints } from './hour.js';
import { HourPlot, Plots } from './plots.js';
import { poll } from './poll.js';
import { Tables } from './tables.js';

const tenMinutes = 600;
const history = new History({ span: tenMinutes, window: 5 });
const byId = id => document.getElementById(id);
const alerts = new Alerts(byId('alerts'));
const plots = new Plots(byId('plots'), tenMinutes);
const hourPlot = new HourPlot(byId('hour'));
const tables = new Tables(byId('tables'));

let lastStatus = null;
let lastPoint = null;
let hour = [];
let failure = null;
let paused = null;    // since when, in seconds; null: not paused

function show() {
    alerts.show(failure, lastPoint);
    if (paused === null) {
        plots.show(history.points);
        hourPlot.show(failure === null ? hour : [...hour, history.points.at(-1)]);
        byId('as-of').hidden = failure === null || lastPoint === null;
        if (failure !== null) {
            clearFigures();
            if (lastPoint) setText(byId('as-of'), `As of ${format.timeInZone(lastPoint.time)}, when the status was last read:`);
        } else {
            showFigures(lastPoint, lastStatus);
            tables.show(lastPoint);
            setText(byId('node'), `${location.host} · version ${lastStatus.version} · ${lastStatus.workers} ` +
                `${lastStatus.workers === 1 ? 'worker' : 'workers'} · counting for ${format.uptime(lastStatus.uptime)}`);
        }
    }
    showState();
}

function showState() {
    const pause = paused === null ? [] : [`Paused at ${format.timeInZone(paused)}`];
    const [state, ...texts] = failure !== null ? ['stale', 'Status can’t be read', ...pause]
        : paused !== null ? ['paused', ...pause] : ['live', 'Live'];
    byId('state').dataset.state = state;
    setText(byId('state'), texts.join('. '));
}

byId('pause').addEventListener('click', () => {
    paused = paused === null ? Date.now() / 1000 : null;
    byId('pause').setAttribute('aria-pressed', paused !== null);
    if (lastPoint || failure !== null) show();
});

setText(byId('time-zone'), format.timeZone());

// Canvases do not update their colours automatically.
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => {
    plots.redraw();
    hourPlot.redraw();
});

poll(document.querySelector('meta[name=tollgate-status]').content, {
    onStatus(status, time) {
        history.add(status, time);
        [lastStatus, lastPoint, hour, failure] = [status, history.now, hourPoints(status.hour, time), null];
        show();
    },
    onFailure(reason, time) {
        history.addGap(time);
        failure = reason;
        show();
    },
});
