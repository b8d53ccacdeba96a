import assert from 'node:assert/strict';
import { test } from 'node:test';
import { importedIds, textOf, valuesIn } from '../../../module/dashboard/console/src/audit_text.js';

test('a change shows what each value has replaced', () => {
    assert.equal(textOf({ detail: 'plan=pro', before: 'plan=free' }), 'plan free → pro');
    assert.equal(textOf({ detail: 'plan=pro name="A shop"', before: 'name="A \\"b=c\\" d"' }), 'plan=pro, name "A \\"b=c\\" d" → "A shop"');
    assert.equal(textOf({ detail: 'expires=none meta=a,b', before: 'expires=2027-01-01T00:00:00Z' }), 'expires 2027-01-01T00:00:00Z → none, meta=a,b');
    assert.equal(textOf({ detail: 'plan=pro', before: null }), 'plan=pro');
    assert.equal(textOf({ detail: 'name="cut…', before: 'name=x' }), 'name="cut… (before: name=x)');
});

test('a credit names its units, its table and its reference', () => {
    const detail = 'units=5000 reference=a"b=c table=api';
    assert.equal(textOf({ action: 'credit', detail, before: null }), '5,000 units in api, reference a"b=c');
    assert.equal(textOf({ action: 'credit-group', detail: 'units=1 reference=x table=api', before: null }), '1 unit in api, reference x');
    assert.equal(textOf({ action: 'credit', detail: 'units=5000 refer…', before: null }), 'units=5000 refer…');
});

test('a text that has no values', () => {
    assert.equal(valuesIn('3 of 3 records'), null);
    assert.equal(valuesIn(''), null);
});

test('an import names ids', () => {
    assert.deepEqual(importedIds({ action: 'import', detail: '2 of 3 records: a b.c' }), { head: '2 of 3 records:', ids: ['a', 'b.c'], end: '' });
    assert.deepEqual(importedIds({ action: 'import', detail: '9 of 9 records: a b …' }).end, ' …');
    assert.equal(importedIds({ action: 'import', detail: 'begins' }), null);
    assert.equal(importedIds({ action: 'set', detail: 'records: a' }), null);
});
