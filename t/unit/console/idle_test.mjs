import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Idle, longestPause } from '../../../module/dashboard/console/src/idle.js';

test('a page that nobody uses is idle', () => {
    let now = 1000;
    const idle = new Idle(() => now);
    now += longestPause - 1;
    assert.equal(idle.isOver(), false);
    idle.note();
    now += longestPause - 1;
    assert.equal(idle.isOver(), false);
    now += 1;
    assert.equal(idle.isOver(), true);
});
