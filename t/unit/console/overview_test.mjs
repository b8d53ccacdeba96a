import assert from 'node:assert/strict';
import { test } from 'node:test';
import { usedToday } from '../../../module/dashboard/console/src/list.js';
import { byTrouble } from '../../../module/dashboard/console/src/overview.js';
import { patternFor } from '../../../module/dashboard/console/src/search.js';

test('who is banned longest comes first, then who is refused most', () => {
    const bans = [
        { id: 'few', banned: false, strikes: 1 }, { id: 'short', banned: true, until: '2027-01-01T00:00:00Z', strikes: 9 },
        { id: 'many', banned: false, strikes: 7 }, { id: 'long', banned: true, until: '2027-01-02T00:00:00Z', strikes: 0 },
    ];
    assert.deepEqual(byTrouble(bans).map(({ id }) => id), ['long', 'short', 'many', 'few']);
});

test('a name that nothing begins with is looked for anywhere', () => {
    assert.equal(patternFor('widgets'), '*widgets*');
    for (const text of ['*widgets', 'widget?', '[ab]', '', undefined]) assert.equal(patternFor(text), null);
});

test('a request that several tables count is used once', () => {
    assert.equal(usedToday({ today: [{ table: 'api', units: 5 }, { table: 'search', units: 2 }] }), 5);
    assert.equal(usedToday({ today: [] }), 0);
});
