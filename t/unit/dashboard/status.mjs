// A status as tollgate_status sends it, with what the page reads of it.

const verdicts = ['abandoned', 'granted', 'limited', 'banned', 'unauthenticated', 'forbidden', 'bypassed', 'degraded', 'unavailable'];
const counts = given => Object.fromEntries(verdicts.map(name => [name, given[name] ?? 0]));

// A status with these counts of verdicts, by plan.
export function statusOf(plans, { started = 1, redis = {}, store = {}, dryRun = {} } = {}) {
    return {
        started,
        workers: 2,
        zone: { size: 1 << 20, stores: { long_keys: { size: 100, used: 0, evictions: 0, ...store } } },
        requests: Object.entries(plans).map(([plan, given]) =>
            ({ tables: 'api', plan, verdicts: counts(given), dry_run: counts(dryRun) })),
        redis: [{
            name: 'main',
            commands: { acquire: 0, lookup: 0 },
            kind: 'server',
            on_failure: 'local',
            tls: { handshakes: 0, resumed: 0 },
            failovers: 0,
            redirections: 0,
            errors: 0,
            reconnects: 0,
            breaker: { open_workers: 0, opened: 0 },
            subscribed_workers: 2,
            round_trip_seconds: { count: 0, buckets: [{ le: 1, count: 0 }] },
            key_cache: { hits: 0, negative_hits: 0, misses: 0 },
            decisions: { redis: 0, lease: 0, refusal: 0, alone: 0 },
            owed: { noted: 0, settled: 0, lapsed: 0 },
            ...redis,
        }],
    };
}
