import assert from 'node:assert/strict';
import { test } from 'node:test';
import { resetOf } from '../../../module/dashboard/console/src/usage.js';

const inAMinute = () => new Date(Date.now() + 61_000).toISOString();

test('a window ends, and a bucket is full', () => {
    const reset = inAMinute();
    assert.match(resetOf({ refill: null, used: 0, reset }), /^the window ends in 1 minute, at \d\d:\d\d:\d\d$/);
    assert.match(resetOf({ refill: '10r/s', used: 5, reset }), /^the bucket gets 10r\/s and is full in 1 minute, at \d\d:\d\d:\d\d$/);
    assert.equal(resetOf({ refill: '10r/s', used: 0, reset }), 'the bucket is full');
});
