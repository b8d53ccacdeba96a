import assert from 'node:assert/strict';
import { test } from 'node:test';
import { stepsOf } from '../../../module/dashboard/src/steps.js';

const at = (...times) => times.map(time => ({ time }));
const pairs = steps => steps.map(({ x, y }) => [x, y]);

test('a value holds since the point before, so that no change is a slope', () => {
    const steps = stepsOf(at(10, 11, 12, 13), [null, 100, 0, 40]);
    assert.deepEqual(pairs(steps), [[10, null], [10, 100], [11, 100], [11, 0], [12, 0], [12, 40], [13, 40]]);
});

test('a gap remains one, and a value after it does not reach back', () => {
    const points = [{ time: 10 }, { time: 11 }, { time: 12, gap: true }, { time: 13 }, { time: 14 }];
    assert.deepEqual(pairs(stepsOf(points, [0.5, 0.5, null, 0.7, 0.7])),
        [[10, 0.5], [10, 0.5], [11, 0.5], [12, null], [13, 0.7], [13, 0.7], [14, 0.7]]);
});
