import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ApiError } from '../../../module/dashboard/console/src/api.js';
import { lastsText, leftText, paceOf, readPaces } from '../../../module/dashboard/console/src/balance.js';
import { creditedText, creditOf } from '../../../module/dashboard/console/src/credit.js';
import { byNearness, resetOf, windowOf } from '../../../module/dashboard/console/src/usage.js';

const balance = {
    table: 'api', unit: 'tokens', window: 'balance', seconds: null, refill: null, count: 400, previous: null, limit: 1000,
    unlimited: false, used: 400, leased: 0, remaining: 600, reset: null,
};

test('a balance shows what is left of what was credited, and no end', () => {
    const { title, text, detail, share } = windowOf(balance);
    assert.deepEqual([title, text, detail, share], ['api: balance', '600 of 1,000 tokens left', 'What is left does not expire.', 0.4]);
    assert.equal(windowOf(balance, '', { perDay: 100, days: 7 }).detail, 'At 100 a day, the mean of the last 7 days, it lasts about 6 days.');
    const leased = windowOf({ ...balance, unit: 'requests', leased: 30 });
    assert.deepEqual([leased.text, leased.detail], ['at least 600 of 1,000 requests left', 'Up to 30 more are leased to nodes; what is left does not expire.']);
    assert.equal(resetOf({ refill: null, used: 0, reset: null }), 'it has no end');
});

test('a balance without a rest', () => {
    const of = counts => windowOf({ ...balance, ...counts }, '', { perDay: 100, days: 7 });
    const spent = of({ used: 1000, remaining: 0 });
    assert.deepEqual([spent.text, spent.detail, spent.share], ['0 of 1,000 tokens left', 'Nothing is granted until it is credited.', 1]);
    assert.equal(of({ used: 1001, remaining: 0 }).detail, '1 token more was used than credited: the next credit pays for it.');
    const never = of({ limit: 0, used: 0, remaining: 0, unit: null });
    assert.deepEqual([never.text, never.detail, never.share], ['0 of 0 units left', 'Nothing was credited.', 1]);
});

test('a balance with a small rest comes before a window with a larger one', () => {
    const window = { ...balance, window: 'day', used: 850, remaining: 150, reset: new Date().toISOString() };
    const [near] = byNearness([windowOf(window), windowOf({ ...balance, used: 950, remaining: 50 }), windowOf(balance), windowOf(balance)]);
    assert.deepEqual(near.map(({ title }) => title), ['api: balance', 'api: day']);
});

const now = Date.parse('2026-11-29T12:00:00Z');
const daysOf = units => Object.entries(units).map(([day, count]) => ({ day: `2026-11-${day}`, table: 'api', units: count }));

test('the pace is the mean of the last complete days', () => {
    const pace = units => paceOf([...daysOf(units), { day: '2026-11-28', table: 'other', units: 9999 }], 'api', now);
    assert.deepEqual(pace({ '03': 9000, 22: 70, 24: 70, 29: 5000 }), { perDay: 20, days: 7 }, 'days without units count; today, and those before the week, do not');
    assert.deepEqual(pace({ 27: 50, 28: 70 }), { perDay: 60, days: 2 }, 'of an id that is new');
    assert.equal(pace({ 29: 5000 }), null, 'today alone');
    assert.equal(pace({ '03': 9000 }), null, 'nothing in the week');
    assert.equal(pace({}), null);
});

test('how long a balance lasts', () => {
    const lasts = (left, perDay) => lastsText(left, { perDay, days: 1 }).replace(/.*it lasts /, '');
    assert.equal(lastsText(4000, { perDay: 1200, days: 1 }), 'at 1,200 a day, as yesterday, it lasts about 3 days');
    assert.deepEqual([lasts(1, 100), lasts(5, 100), lasts(199, 100), lasts(200, 100), lasts(1e15, 0.5)],
        ['less than an hour', 'about 1 hour', 'about 47 hours', 'about 2 days', 'more than 10 years']);
});

test('a history is read only for balances of tables that have one', async () => {
    const asked = [];
    const api = { ask: async (...all) => asked.push(all) && { data: { days: [] } } };
    const tables = [{ name: 'api' }, { name: 'images', history: 90 }];
    assert.equal((await readPaces(api, 'acme', [balance, { ...balance, table: 'images', remaining: 0 }], tables)).size, 0);
    assert.deepEqual(asked, []);
    assert.deepEqual([...await readPaces(api, 'acme', [{ ...balance, table: 'images' }], tables)], [['images', null]]);
    assert.equal(asked[0][1], 'keys/acme/history');
    const failing = { ask: async () => { throw new ApiError('no'); } };
    assert.equal((await readPaces(failing, 'acme', [{ ...balance, table: 'images' }], tables)).size, 0);
});

test('what is entered for a credit', () => {
    const entered = { units: ' 5000 ', reference: ' order-1 ' };
    assert.deepEqual(creditOf(entered, ['api']), { units: 5000, reference: 'order-1', table: 'api' });
    assert.deepEqual(creditOf({ ...entered, table: 'images' }, ['api', 'images']).table, 'images');
    const fieldOf = (inputs, tables = ['api']) => {
        try {
            return creditOf({ ...entered, ...inputs }, tables);
        } catch (error) {
            return error.field;
        }
    };
    assert.equal(fieldOf({ table: '' }, ['api', 'images']), 'table');
    for (const units of ['', '5,000', '5.5', '-5', '1e3']) assert.equal(fieldOf({ units }), 'units');
    assert.equal(fieldOf({ reference: ' ' }), 'reference');
});

test('what a credit has done', () => {
    const result = { table: 'api', unit: 'tokens', credited: 1000, left: 600, repeated: false };
    assert.equal(creditedText('acme', 500, result), '500 tokens credited. Now acme has 600 of 1,000 tokens left in api.');
    assert.equal(creditedText('acme', 500, { ...result, repeated: true }),
        'This reference was credited before: nothing has changed. Now acme has 600 of 1,000 tokens left in api.');
    assert.equal(leftText(-23, 100, 'tokens'), 'nothing left of 100 tokens, and 23 more used');
});
