import assert from 'node:assert/strict';
import { test } from 'node:test';

process.env.TZ = 'America/New_York';
const { changesOf, factsOf } = await import('../../../module/dashboard/console/src/fields.js');
const { dayBefore, distance, fromLocalInput, toLocalInput } = await import('../../../module/dashboard/console/src/times.js');
const { daysFrom } = await import('../../../module/dashboard/console/src/bars.js');

const key = { id: 'acme', name: 'ACME', plan: 'pro', group: 'emea', limits: null, expires: '2027-07-01T12:00:00Z', scopes: ['a', 'b'], from: [], prefix: null, meta: { contract: 4711 } };
const inputs = { name: 'ACME', plan: 'pro', group: 'emea', limits: '', expires: '2027-07-01T08:00:00', scopes: 'a b', from: '', prefix: '' };

test('a form changes what differs', () => {
    assert.deepEqual(changesOf(inputs, key), {});
    assert.deepEqual(changesOf({ ...inputs, name: ' ', limits: '5r/m' }, key), { name: null, limits: '5r/m' });
    assert.deepEqual(changesOf({ ...inputs, scopes: 'b', from: ' ::1  10.0.0.0/8 ' }, key), { scopes: ['b'], from: ['::1', '10.0.0.0/8'] });
    assert.deepEqual(changesOf({ ...inputs, expires: '' }, key), { expires: null });
    assert.deepEqual(changesOf({ ...inputs, group: '' }, key), { group: null });
    assert.deepEqual(changesOf({ ...inputs, group: ' apac ' }, key), { group: 'apac' });
    assert.deepEqual(changesOf({ ...inputs, billing_day: '15' }, key), { billing_day: 15 });
    assert.deepEqual(changesOf({ billing_day: '' }, { billing_day: 15 }), { billing_day: null });
    assert.deepEqual(changesOf({ billing_day: ' 15th' }, { billing_day: 15 }), { billing_day: '15th' });
});

test('a browser omits seconds that are zero', () => {
    assert.deepEqual(changesOf({ ...inputs, expires: '2027-07-01T08:00' }, key), {});
});

test('a new key has what was entered', () => {
    assert.deepEqual(changesOf({ ...inputs, id: '', expires: '', scopes: '' }), { name: 'ACME', plan: 'pro', group: 'emea' });
});

test('facts have a text for what is empty', () => {
    assert.deepEqual(factsOf({ ...key, name: null, expires: null }).map(([, text]) => text), ['none', 'pro', 'emea', 'those of the plan', 'the first', 'never', 'a b', 'any', 'tg', '4711']);
});

test('times of inputs are in the zone of the browser', () => {
    assert.equal(toLocalInput('2027-07-01T12:00:00Z'), '2027-07-01T08:00:00');
    assert.equal(toLocalInput('2027-01-01T12:00:05Z'), '2027-01-01T07:00:05');
    assert.equal(fromLocalInput('2027-01-01T07:00:05'), '2027-01-01T12:00:05Z');
    assert.equal(fromLocalInput('2027-07-01T08:00'), '2027-07-01T12:00:00Z');
    assert.equal(fromLocalInput(''), null);
});

test('distances are never rounded up', () => {
    const now = Date.parse('2026-11-26T10:00:00Z');
    assert.equal(distance('2026-11-26T11:59:59Z', now), 'in 1 hour');
    assert.equal(distance('2026-11-26T09:58:00Z', now), '2 minutes ago');
    assert.equal(distance('2026-11-29T10:00:00Z', now), 'in 3 days');
    assert.equal(distance('2026-11-26T10:00:07Z', now), 'in 7 seconds');
});

test('days are those of UTC, also over the change of the hour', () => {
    assert.equal(dayBefore(0, Date.parse('2026-11-26T23:59:00Z')), '2026-11-26');
    assert.deepEqual(daysFrom('2026-10-31', '2026-11-02'), ['2026-10-31', '2026-11-01', '2026-11-02']);
    assert.equal(daysFrom('2026-03-01', '2026-03-30').length, 30);
});
