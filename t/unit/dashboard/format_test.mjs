import assert from 'node:assert/strict';
import { test } from 'node:test';

process.env.TZ = 'Asia/Kolkata';
const { timeInZone, timeZone } = await import('../../../module/dashboard/src/format.js');

test('a time in a sentence has its zone', () => {
    assert.equal(timeInZone(0), '05:30:00 GMT+5:30');
    assert.equal(timeZone(), 'GMT+5:30');
});
