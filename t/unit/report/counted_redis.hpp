#pragma once

#include "module/report/status.hpp"

namespace tollgate {

/// Gives each counter and gauge of a Redis with two workers another value.
inline void count_each(Status::Redis& redis) {
    auto& counts = redis.counts;
    redis.nodes = 25;
    redis.in_flight = 30;
    counts["commands.acquire"].add(1);
    counts["commands.lookup"].add(2);
    counts["errors"].add(3);
    counts["reconnects"].add(4);
    counts["tls_handshakes"].add(21);
    counts["tls_resumed"].add(22);
    counts["breaker_opened"].add(5);
    counts["failovers"].add(23);
    counts["redirections"].add(24);
    redis.workers.breaker_open.start(1, 77);
    redis.workers.breaker_open.insert(1, 77);
    redis.workers.subscribed.start(0, 76);
    redis.workers.subscribed.insert(0, 76);
    redis.workers.subscribed.start(1, 77);
    redis.workers.subscribed.insert(1, 77);
    redis.workers.subscribed.start(2, 78);
    redis.workers.subscribed.insert(2, 78);  // Of a worker that is no longer configured.
    counts["key_cache_lookups.hit"].add(6);
    counts["key_cache_lookups.negative_hit"].add(7);
    counts["key_cache_lookups.miss"].add(8);
    counts["retiring_key_uses"].add(26);
    counts["quota_decisions.redis"].add(9);
    counts["quota_decisions.lease"].add(10);
    counts["quota_decisions.refusal"].add(11);
    counts["quota_decisions.alone"].add(12);
    counts.note_lease(13);
    counts.note_lease(1);
    counts["leases_recalled"].add(27);
    counts["lease_units.spent"].add(15);
    counts["lease_units.returned"].add(16);
    counts["lease_units.lost"].add(17);
    counts["cost_units.reserved"].add(28);
    counts["cost_units.settled"].add(29);
    counts["commands.flight"].add(31);
    counts["flights.entered"].add(32);
    counts["flights.refused"].add(33);
    counts["lost_calls.noted"].add(34);
    counts["lost_calls.taken_back"].add(35);
    counts["lost_calls.left"].add(36);
    counts["owed_units.noted"].add(18);
    counts["owed_units.settled"].add(19);
    counts["owed_units.lapsed"].add(20);
}

}  // namespace tollgate
