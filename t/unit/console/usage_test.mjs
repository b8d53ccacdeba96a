import assert from 'node:assert/strict';
import { test } from 'node:test';
import { byNearness, resetOf, windowOf } from '../../../module/dashboard/console/src/usage.js';

const inAMinute = () => new Date(Date.now() + 61_000).toISOString();

test('a window ends, and a bucket is full', () => {
    const reset = inAMinute();
    assert.match(resetOf({ refill: null, used: 0, reset }), /^the window ends in 1 minute, at \d\d:\d\d:\d\d$/);
    assert.match(resetOf({ refill: '10r/s', used: 5, reset }), /^the bucket gets 10r\/s and is full in 1 minute, at \d\d:\d\d:\d\d$/);
    assert.equal(resetOf({ refill: '10r/s', used: 0, reset }), 'the bucket is full');
});

const shares = (...all) => byNearness(all.map(share => ({ share }))).map(part => part.map(({ share }) => share));

test('what is near its limit comes first, the rest is folded', () => {
    assert.deepEqual(shares(0.1, 0.9, -1, 1.2, 0.5), [[1.2, 0.9], [0.5, 0.1, -1]]);
    assert.deepEqual(shares(0.1, 0.2, 0.3), [[0.3], [0.2, 0.1]]);
    assert.deepEqual(shares(0.1, 0.2), [[0.2, 0.1], []]);
    assert.deepEqual(shares(0.9, 0.8), [[0.9, 0.8], []]);
    assert.deepEqual(shares(), [[], []]);
});

test('leased units are told apart from used ones, and no limit from an unknown one', () => {
    const window = { table: 'api', window: 'day', limit: 10_000, unlimited: false, used: 6850, leased: 3850, remaining: 3150, refill: null, reset: inAMinute() };
    assert.equal(windowOf(window).text, 'at least 3,000 of 10,000 used');
    assert.match(windowOf(window).detail, /^Up to 3,850 more are leased to nodes; 3,150 left; the window ends/);
    assert.match(windowOf({ ...window, leased: 0 }).detail, /^3,150 left; /);
    assert.equal(windowOf({ ...window, limit: null, unlimited: true, leased: 0 }).text, '6,850 used, unlimited');
    assert.match(windowOf({ ...window, limit: null, unlimited: true, leased: 0 }).detail, /^The window ends/);
    assert.match(windowOf({ ...window, limit: null, leased: 0 }).detail, /^The limit is not known here; /);
    assert.equal(windowOf({ ...window, used: 10_000, remaining: 0 }, ' of the group g').title, 'api: day of the group g');
});
