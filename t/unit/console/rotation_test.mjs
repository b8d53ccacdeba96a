import assert from 'node:assert/strict';
import { test } from 'node:test';
import { oldKeyUse } from '../../../module/dashboard/console/src/rotation.js';

const current = { retiring: false, created: '2026-11-26T10:00:30Z', used: null };
const old = used => ({ retiring: true, created: '2026-01-01T00:00:00Z', used });

test('the use of the old key since the rotation', () => {
    assert.equal(oldKeyUse([current]), null);
    assert.equal(oldKeyUse([]), null);
    assert.equal(oldKeyUse([current, old(null)]), 'unused');
    assert.equal(oldKeyUse([current, old('2026-11-26T09:59:00Z')]), 'unused');
    assert.equal(oldKeyUse([current, old('2026-11-26T10:01:00Z')]), 'used');
});

test('the minute of the rotation does not tell whether the use was before or after it', () => {
    assert.equal(oldKeyUse([current, old('2026-11-26T10:00:00Z')]), 'unclear');
});
