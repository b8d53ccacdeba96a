import assert from 'node:assert/strict';
import { test } from 'node:test';
import { planStyles } from '../../../module/dashboard/src/plan_styles.js';

const plans = totals => Object.entries(totals).map(([key, total]) => ({ key, total }));

test('a plan has its colour whichever is busier, and however the status orders them', () => {
    const first = planStyles(plans({ 'api/free': 5, 'api/pro': 9, 'api/': 1 }), 6);
    const second = planStyles(plans({ 'api/': 90, 'api/pro': 9, 'api/free': 6 }), 6);
    assert.deepEqual([...first], [['api/', 0], ['api/free', 1], ['api/pro', 2]]);
    assert.deepEqual(second, first);
});

test('of more plans than colours those with the most requests are named', () => {
    assert.deepEqual([...planStyles(plans({ a: 1, b: 7, c: 5, d: 7 }), 2)], [['b', 0], ['d', 1]]);
    assert.deepEqual([...planStyles(plans({ b: 1, a: 1 }), 1).keys()], ['a'], 'the name decides between equals');
});
