// Computes a point from a status and an earlier one.

import { outcomes, outcomesOf, refused } from './outcomes.js';
import { quantile } from './quantile.js';

const sum = numbers => numbers.reduce((total, one) => total + one, 0);
const share = (part, whole) => whole > 0 ? part / whole : null;

// A point. Rates are per second. Rates, quantiles and shares are null if there is no earlier status or if nothing
// happened.
export function pointOf(older, newer) {
    const rate = (now, before) => older ? Math.max(0, now - before) / (newer.time - older.time) : null;
    const plans = plansOf(older?.status, newer.status, rate);
    const redis = redisOf(older?.status, newer.status, rate);
    return {
        time: newer.time,
        requests: older ? sum(plans.map(plan => plan.requests)) : null,
        refused: older ? sum(plans.map(plan => plan.refused)) : null,
        outcomes: Object.fromEntries(
            outcomes.map(name => [name, older ? sum(plans.map(plan => plan.outcomes[name])) : null])),
        plans,
        redis,
        keys: older ? sum(redis.map(one => one.keys)) : null,
        lookups: older ? sum(redis.map(one => one.lookups)) : null,
        knownShare: share(sum(redis.map(one => one.keys - one.lookups)), sum(redis.map(one => one.keys))),
        zone: zoneOf(older?.status, newer.status, rate),
    };
}

function plansOf(older, newer, rate) {
    const key = row => `${row.tables}/${row.plan}`;
    const before = new Map(older?.requests.map(row => [key(row), row]));
    const sumOf = rates => older ? sum(rates) : null;
    return newer.requests.map(row => {
        const earlier = before.get(key(row));
        const rates = member => {
            const now = outcomesOf(row, row[member]);
            const then = earlier ? outcomesOf(earlier, earlier[member]) : {};
            return Object.fromEntries(outcomes.map(name => [name, rate(now[name], then[name] ?? 0)]));
        };
        const decided = rates('verdicts');
        const dryRun = rates('dry_run');
        return {
            key: key(row),
            tables: row.tables,
            unit: row.unit,
            plan: row.plan,
            outcomes: decided,
            requests: sumOf(Object.values(decided)),
            refused: sumOf(refused.map(name => decided[name])),
            wouldRefuse: sumOf(refused.map(name => dryRun[name])),
            dryRun: sum(Object.values(row.dry_run)),
            total: sum(Object.values(row.verdicts)),
        };
    });
}

function redisOf(older, newer, rate) {
    const before = new Map(older?.redis.map(one => [one.name, one]));
    return newer.redis.map(one => {
        const earlier = before.get(one.name) ?? one;
        const rates = member => Object.fromEntries(
            Object.keys(one[member]).map(name => [name, rate(one[member][name], earlier[member][name])]));
        const cache = rates('key_cache_lookups');
        return {
            name: one.name,
            onFailure: one.on_failure,
            open: one.breaker_open_workers,
            workers: newer.workers,
            timed: older ? one.round_trip_seconds.count - earlier.round_trip_seconds.count : null,
            p50: quantile(0.5, earlier.round_trip_seconds, one.round_trip_seconds),
            p99: quantile(0.99, earlier.round_trip_seconds, one.round_trip_seconds),
            calls: older ? sum(Object.values(rates('commands'))) : null,
            errors: rate(one.errors, earlier.errors),
            reconnects: one.reconnects,
            failovers: one.failovers,
            redirections: rate(one.redirections, earlier.redirections),
            newSessions: one.tls_handshakes - one.tls_resumed,
            resumedSessions: one.tls_resumed,
            masters: mastersOf(one),
            subscribed: one.subscribed_workers,
            keys: sum(Object.values(cache)),
            lookups: cache.miss,
            decisions: rates('quota_decisions'),
            owed: one.owed_units.noted - one.owed_units.settled - one.owed_units.lapsed,
        };
    });
}

// The masters of a Redis with `sentinel`, `cluster` or TLS. The address of a `server` is not in the status.
function mastersOf(one) {
    if (one.kind === 'cluster') return one.masters.map(master => ({ ...master, mapAge: one.slot_map_age_seconds }));
    const address = one.master ?? (one.tls_handshakes > 0 ? '–' : null);
    return address ? [{ address, reachable: one.breaker_open_workers === 0 }] : [];
}

// The name of a plan in its tables. The plan of requests without a valid key is empty in the status.
export const planName = ({ tables, plan }) => `${tables}: ${plan || 'no plan'}`;

// Tables of the zone that are full in normal use. They evict the least recently used entries, which costs valid keys
// nothing.
const fillingUp = ['unknown_keys', 'addresses'];

function zoneOf(older, newer, rate) {
    return Object.entries(newer.zone.stores).map(([name, store]) => ({
        name: name.replaceAll('_', ' '),
        fillsUp: fillingUp.includes(name),
        used: store.entries,
        size: store.entries_max,
        use: share(store.entries, store.entries_max),
        evictions: rate(store.evictions, older?.zone.stores[name]?.evictions ?? store.evictions),
    }));
}
