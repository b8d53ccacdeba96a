// A status as tollgate_status sends it, with what the page reads of it.

const verdicts = ['abandoned', 'granted', 'limited', 'banned', 'unauthenticated', 'forbidden', 'bypassed', 'degraded', 'unavailable'];
const counts = given => Object.fromEntries(verdicts.map(name => [name, given[name] ?? 0]));

// A status with these counts of verdicts, by plan.
export function statusOf(plans, { started = 1, redis = {}, store = {}, dryRun = {} } = {}) {
    return {
        start_time_seconds: started,
        workers: 2,
        zone: { size_bytes: 1 << 20, stores: { long_keys: { entries_max: 100, entries: 0, evictions: 0, ...store } } },
        requests: Object.entries(plans).map(([plan, given]) =>
            ({ tables: 'api', plan, verdicts: counts(given), dry_run: counts(dryRun) })),
        redis: [{
            name: 'main',
            commands: { acquire: 0, lookup: 0 },
            kind: 'server',
            on_failure: 'local',
            tls_handshakes: 0,
            tls_resumed: 0,
            failovers: 0,
            redirections: 0,
            errors: 0,
            reconnects: 0,
            breaker_open_workers: 0,
            breaker_opened: 0,
            subscribed_workers: 2,
            round_trip_seconds: { count: 0, buckets: [{ le: 1, count: 0 }] },
            key_cache_lookups: { hit: 0, negative_hit: 0, miss: 0 },
            quota_decisions: { redis: 0, lease: 0, refusal: 0, alone: 0 },
            owed_units: { noted: 0, settled: 0, lapsed: 0 },
            ...redis,
        }],
    };
}
