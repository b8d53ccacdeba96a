import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setState } from '../../../module/dashboard/console/src/operations.js';

const answering = data => ({ ask: async () => ({ data, durability: 'unconfirmed' }) });

test('an id has the state that the response shows', async () => {
    assert.equal(await setState(answering({ state: 'disabled' }), 'acme', 'disabled'), 'unconfirmed');
    await assert.rejects(setState(answering({ state: 'active' }), 'acme', 'disabled'), { message: 'acme is not disabled: its state is active. Try again.' });
    assert.equal(await setState(answering({ state: 'expired' }), 'acme', 'active'), 'unconfirmed');
    await assert.rejects(setState(answering({ state: 'expired' }), 'acme', 'disabled'), /expired/);
    await assert.rejects(setState(answering(null), 'acme', 'disabled'), /unknown/);
});
