import assert from 'node:assert/strict';
import { test } from 'node:test';
import { History } from '../../../module/dashboard/src/history.js';
import { statusOf } from './status.mjs';

const history = () => new History({ span: 600, window: 5 });

test('rates are by verdict and by plan, and what was refused is told apart', () => {
    const h = history();
    h.add(statusOf({ free: {}, pro: {} }), 100);
    h.add(statusOf({ free: { granted: 20, limited: 4 }, pro: { granted: 6, unavailable: 2, bypassed: 2 } }), 102);
    assert.equal(h.now.requests, 17);
    assert.equal(h.now.refused, 3);
    assert.equal(h.now.outcomes.granted, 13);
    assert.deepEqual(h.now.plans.map(plan => [plan.plan, plan.requests, plan.refused, plan.total]),
        [['free', 12, 2, 24], ['pro', 5, 1, 10]]);
});

test('customers over quota, addresses over budget and bans are told apart', () => {
    const h = history();
    h.add(statusOf({ free: {}, pro: {}, '': {} }), 100);
    h.add(statusOf({ free: { limited: 4, banned: 2 }, pro: { limited: 6 }, '': { limited: 14, unauthenticated: 8 } }), 102);
    const { outcomes } = h.now;
    assert.deepEqual(['customer over quota', 'address over budget', 'banned', 'unauthenticated'].map(name => outcomes[name]), [5, 7, 1, 4]);
    assert.equal(outcomes.limited, undefined);
    assert.equal(h.now.refused, 17);
});

test('the first status has no rates, but tells how Redis and the zone are', () => {
    const h = history();
    h.add(statusOf({ free: { granted: 5 } }, { redis: { breaker_open_workers: 1, breaker_opened: 1 }, store: { entries: 25 } }), 100);
    assert.equal(h.now.requests, null);
    assert.equal(h.now.knownShare, null);
    assert.equal(h.now.plans[0].requests, null);
    assert.deepEqual([h.now.redis[0].calls, h.now.redis[0].timed], [null, null]);
    assert.equal(h.now.redis[0].open, 1);
    assert.deepEqual([h.now.zone[0].name, h.now.zone[0].use], ['long keys', 0.25]);
});

test('a rate is the mean of the window', () => {
    const h = history();
    for (const [i, granted] of [0, 0, 0, 0, 0, 0, 0, 50].entries()) h.add(statusOf({ free: { granted } }), 100 + i);
    assert.equal(h.now.requests, 10);
    for (let i = 0; i < 6; i++) h.add(statusOf({ free: { granted: 50 } }), 108 + i);
    assert.equal(h.now.requests, 0);
});

test('points are means since the point before: the end of traffic is a step, and an outage is one', () => {
    const h = history();
    const granted = [0, 100, 200, 300, 300, 300, 350];
    for (const [i, all] of granted.entries()) {
        h.add(statusOf({ free: { granted: all, degraded: i > 3 ? 60 * (i - 3) : 0 } }), 100 + i);
    }
    const series = name => h.points.map(({ outcomes }) => outcomes[name]);
    assert.deepEqual(series('granted'), [null, 100, 100, 100, 0, 0, 50]);
    assert.deepEqual(series('degraded'), [null, 0, 0, 0, 60, 60, 60]);
});

test('round trips have their quantile while there are calls, and a gap when there are none', () => {
    const h = history();
    for (const [i, count] of [0, 60, 120, 120, 130].entries()) {
        h.add(statusOf({}, { redis: { round_trip_seconds: { count, buckets: [{ le: 1, count }] } } }), 100 + i);
    }
    assert.deepEqual(h.points.map(({ redis: [{ p50, timed }] }) => [p50, timed]),
        [[null, null], [null, 60], [0.5, 120], [null, 0], [0.5, 130]]);
});

test('where answers are rare a rate is that since the last one', () => {
    const h = history();
    for (const [i, granted] of [0, 60, 600].entries()) h.add(statusOf({ free: { granted } }), 60 * i);
    assert.equal(h.now.requests, 9);
});

test('counts that began anew are not compared with the ones before', () => {
    const h = history();
    h.add(statusOf({ free: { granted: 1000 } }), 100);
    h.add(statusOf({ free: { granted: 3 } }, { started: 2 }), 101);
    assert.equal(h.now.requests, null);
    h.add(statusOf({ free: { granted: 7 } }, { started: 2 }), 102);
    assert.equal(h.now.requests, 4);
});

test('a plan that a reload added counts from nothing', () => {
    const h = history();
    h.add(statusOf({ free: { granted: 10 } }), 100);
    h.add(statusOf({ fresh: { granted: 3 }, free: { granted: 11 } }), 101);
    assert.deepEqual(h.now.plans.map(plan => [plan.plan, plan.requests]), [['fresh', 3], ['free', 1]]);
});

test('a gap is one, and no rate bridges it', () => {
    const h = history();
    h.add(statusOf({ free: { granted: 0 } }), 100);
    h.addGap(101);
    assert.equal(h.points.at(-1).gap, true);
    h.add(statusOf({ free: { granted: 100 } }), 102);
    assert.equal(h.now.requests, null);
});

test('a look-up is a call of Redis: cached records and cached absences need none', () => {
    const h = history();
    h.add(statusOf({}), 100);
    h.add(statusOf({}, { redis: { key_cache_lookups: { hit: 6, negative_hit: 3, miss: 1 } } }), 101);
    assert.equal(h.now.knownShare, 0.9);
    assert.deepEqual([h.now.keys, h.now.lookups], [10, 1]);
});

test('ten minutes are kept', () => {
    const h = history();
    for (let i = 0; i <= 700; i++) h.add(statusOf({ free: { granted: i } }), i);
    assert.equal(h.points[0].time, 100);
    assert.equal(h.points.length, 601);
    assert.equal(h.statuses.length, 6);
});

test('masters are those of Sentinel, of a cluster or behind TLS', () => {
    const masters = redis => {
        const h = history();
        h.add(statusOf({}, { redis }), 100);
        return h.now.redis[0].masters;
    };
    assert.deepEqual(masters({}), []);
    assert.deepEqual(masters({ kind: 'sentinel' }), []);
    assert.deepEqual(masters({ tls_handshakes: 1 }), [{ address: '–', reachable: true }]);
    assert.deepEqual(masters({ kind: 'sentinel', master: 'a:1' }), [{ address: 'a:1', reachable: true }]);
    assert.equal(masters({ kind: 'sentinel', master: 'a:1', breaker_open_workers: 1, breaker_opened: 1 })[0].reachable, false);
    assert.deepEqual(masters({ kind: 'cluster', slot_map_age_seconds: 7, masters: [{ address: 'a:1', slots: 3, reachable: false }] }),
        [{ address: 'a:1', slots: 3, reachable: false, mapAge: 7 }]);
    assert.deepEqual(masters({ kind: 'cluster', masters: [] }), []);
});
