import assert from 'node:assert/strict';
import { test } from 'node:test';
import { emptyText } from '../../../module/dashboard/src/empty_text.js';

const gap = { gap: true };
const first = { requests: null };
const known = { requests: 0 };

test('that nothing happened is claimed only of times whose status is known', () => {
    const text = (...points) => emptyText(points, 'Nothing was refused');
    const unread = 'Not known: the status can’t be read';
    assert.equal(text(gap), unread);
    assert.equal(text(first, known, gap), unread);
    assert.equal(text(), 'Not known yet');
    assert.equal(text(first), 'Not known yet');
    assert.equal(text(gap, first), 'Not known yet');
    assert.equal(text(first, known), 'Nothing was refused');
    assert.equal(text(first, known, gap, first, known), 'Nothing was refused while the status was read');
});
