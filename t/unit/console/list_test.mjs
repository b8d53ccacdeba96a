import assert from 'node:assert/strict';
import { test } from 'node:test';
import { rowAfterKey, visibleRows } from '../../../module/dashboard/console/src/window.js';

const box = { height: 500, rowHeight: 50, around: 3 };

test('the rows around the visible ones are in the document', () => {
    assert.deepEqual(visibleRows({ ...box, top: 0, rows: 100_000 }), [0, 13]);
    assert.deepEqual(visibleRows({ ...box, top: 5020, rows: 100_000 }), [97, 114]);
    assert.deepEqual(visibleRows({ ...box, top: 4_999_500, rows: 100_000 }), [99_987, 100_000]);
    assert.deepEqual(visibleRows({ ...box, top: 0, rows: 4 }), [0, 4]);
    assert.deepEqual(visibleRows({ ...box, top: 9000, rows: 0 }), [0, 0]);
});

test('keys move within the list', () => {
    const at = (key, active) => rowAfterKey(key, { active, rows: 100, page: 9 });
    assert.equal(at('ArrowDown', -1), 0);
    assert.equal(at('ArrowDown', 99), 99);
    assert.equal(at('ArrowUp', -1), 0);
    assert.equal(at('ArrowUp', 5), 4);
    assert.equal(at('PageDown', 5), 14);
    assert.equal(at('PageDown', 95), 99);
    assert.equal(at('PageUp', 5), 0);
    assert.equal(at('Home', 50), 0);
    assert.equal(at('End', 50), 99);
    assert.equal(at('a', 50), null);
    assert.equal(rowAfterKey('End', { active: -1, rows: 0, page: 9 }), null);
});
