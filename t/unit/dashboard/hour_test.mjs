import assert from 'node:assert/strict';
import { test } from 'node:test';
import { hourPoints } from '../../../module/dashboard/src/hour.js';
import { outcomes } from '../../../module/dashboard/src/outcomes.js';

const names = ['abandoned', 'granted', 'limited', 'limited_addresses', 'banned', 'unauthenticated', 'forbidden', 'bypassed',
    'degraded', 'unavailable', 'evictions', 'unreachable'];
const hour = (minutes, given) => ({ age: 5, series: Object.fromEntries(names.map(name => [name, given[name] ?? Array(minutes).fill(0)])) });

test('minutes have the means of what the node counted in them', () => {
    const points = hourPoints(hour(2, { granted: [600, 60], limited: [90, 60], limited_addresses: [30, 0] }), 1000);
    assert.deepEqual(points.map(({ time }) => time), [875, 935, 995]);
    assert.deepEqual(['granted', 'customer over quota', 'address over budget', 'banned'].map(name => points[1].outcomes[name]), [10, 1, 0.5, 0]);
    assert.deepEqual(points.map(({ requests }) => requests), [null, 11.5, 2]);
    assert.deepEqual(Object.keys(points[1].outcomes), outcomes);
});

test('minutes have the alarms that they had', () => {
    const points = hourPoints(hour(3, { unreachable: [0, 1, 0], unavailable: [0, 7, 0], evictions: [0, 0, 2] }), 1000);
    assert.deepEqual(points.map(({ alarms }) => alarms.map(({ title }) => title)),
        [[], [], ['Redis was unreachable', 'Requests got 503'], ['The zone evicted entries']]);
});

test('what nobody recorded is not known', () => {
    const nobody = Object.fromEntries(names.map(name => [name, [60, null]]));
    assert.deepEqual(hourPoints(hour(2, nobody), 1000).map(({ requests }) => requests), [null, 9, null]);
    assert.deepEqual(hourPoints(hour(0, {}), 1000), []);
});
