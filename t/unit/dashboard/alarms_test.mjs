import assert from 'node:assert/strict';
import { test } from 'node:test';
import { History } from '../../../module/dashboard/src/history.js';
import { statusOf } from './status.mjs';

const open = { breaker_open_workers: 1, breaker_opened: 1 };
const owed_units = { noted: 1500, settled: 200, lapsed: 50 };

// The alarms after these statuses, one a second.
function alarmsOf(...statuses) {
    const h = new History({ span: 600, window: 5 });
    for (const [i, status] of statuses.entries()) h.add(status, 100 + i);
    return h.now.alarms;
}
const ofRedis = redis => alarmsOf(statusOf({}, { redis }));

test('nothing is wrong', () => {
    assert.deepEqual(alarmsOf(statusOf({ free: { granted: 1 } }), statusOf({ free: { granted: 9, limited: 9 } })), []);
});

test('an unreachable Redis: what clients get depends on on_failure', () => {
    const [alarm] = ofRedis({ ...open, owed_units });
    assert.equal(alarm.title, 'Redis main is unreachable');
    assert.equal(alarm.extent, 'for 1 of 2 workers');
    assert.equal(alarm.text, 'Known keys are served, and counted by this node alone; keys that it does not know get 503.');
    assert.equal(alarm.detail, '1,250 units are owed to Redis.');
    assert.match(ofRedis({ ...open, on_failure: 'allow' })[0].text, /^Known keys are served without being counted; .* get 503\.$/);
    assert.equal(ofRedis({ ...open, on_failure: 'deny' })[0].text, 'Requests that need Redis get 503.');
    assert.equal(ofRedis({ ...open })[0].detail, '', 'nothing is owed');
    assert.deepEqual(ofRedis({ ...open, on_failure: undefined, subscribed_workers: 0 }), [], 'it is not configured any more');
});

test('a master of a cluster concerns its own keys', () => {
    const masters = [{ address: 'a:1', slots: 1, reachable: true }, { address: 'b:1', slots: 1, reachable: false }];
    const [alarm] = ofRedis({ kind: 'cluster', masters, ...open });
    assert.equal(alarm.title, '1 of 2 masters of Redis main are unreachable');
    assert.match(alarm.text, /^Of their keys: Known keys/);
});

test('503s raise an alarm', () => {
    const alarms = alarmsOf(statusOf({ free: {} }), statusOf({ free: { unavailable: 3 } }));
    assert.deepEqual(alarms.map(({ title, detail }) => [title, detail]), [['Requests get 503', 'Now 3 a second.']]);
});

test('evictions raise an alarm, but not those of tables that fill up in normal use', () => {
    const after = store => alarmsOf(statusOf({}), statusOf({}, { store })).map(({ title, detail }) => [title, detail]);
    assert.deepEqual(after({ evictions: 4 }), [['The zone is too small for its long keys', 'Now 4 evictions a second.']]);
    const addresses = evictions => ({ ...statusOf({}), zone: { size_bytes: 1 << 20, stores: { addresses: { entries_max: 9, entries: 9, evictions } } } });
    assert.deepEqual(alarmsOf(addresses(0), addresses(7)), []);
});

test('a lost subscription raises an alarm, unless a worker has just started or Redis is unreachable', () => {
    const lost = redis => statusOf({}, { redis: { subscribed_workers: 1, ...redis } });
    const [alarm] = alarmsOf(lost(), lost());
    assert.equal(alarm.title, 'The subscription to Redis main is lost');
    assert.equal(alarm.extent, 'by 1 of 2 workers');
    assert.deepEqual(alarmsOf(lost()), []);
    assert.deepEqual(alarmsOf(lost(), lost({ ...open })).map(({ key }) => key), ['redis main']);
});

test('a time without a status is marked', () => {
    const h = new History({ span: 600, window: 5 });
    h.addGap(100);
    assert.deepEqual(h.points[0].alarms.map(({ title }) => title), ['The status could not be read']);
});
