#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <stdexcept>
#include <string_view>

namespace tollgate {

/// A counter of a `tollgate_redis`, or several that differ in one label. `name` is a member of
/// `redis[]` in JSON: a number, or an object with a member for each value of the label. In
/// Prometheus it is `tollgate_redis_NAME_total`.
struct CounterFamily {
    std::string_view name;
    std::string_view help;
    std::string_view label{};
    std::array<std::string_view, 4> label_values{""};

    /// One for each counter: a value of the label, or an empty text if there is no label.
    constexpr std::span<const std::string_view> values() const {
        std::size_t number = 1;
        while (number < label_values.size() && !label_values[number].empty()) {
            ++number;
        }
        return std::span(label_values).first(number);
    }
};

/// Every counter. Units are those of `tollgate_cost`; each is counted once per plan table.
inline constexpr auto kRedisCounters = std::to_array<CounterFamily>({
    {"commands",
     "Calls of Redis: acquire, lookup, flight (places of `in_flight`).",
     "command",
     {"acquire", "lookup", "flight"}},
    {"errors", "Calls with an error reply, a late reply or no reply."},
    {"reconnects", "New connections to Redis after a lost one."},
    {"redirections", "Calls that a cluster redirected with MOVED or ASK."},
    {"tls_handshakes", "Successful TLS handshakes with Redis."},
    {"tls_resumed", "TLS handshakes with Redis that resumed a session."},
    {"breaker_opened", "How often the circuit breaker of a worker opened."},
    {"failovers", "How often Sentinel reported another master."},
    {"key_cache_lookups",
     "Searches for a key in shared memory: hit, negative_hit (the key does not exist), miss.",
     "result",
     {"hit", "negative_hit", "miss"}},
    {"retiring_key_uses",
     "Minutes in which a key was used that a rotation has replaced, of all such keys."},
    {"quota_decisions",
     "Requests by what decided their quota: redis, a lease, a cached refusal, the node alone.",
     "by",
     {"redis", "lease", "refusal", "alone"}},
    {"leases", "Leases taken from Redis."},
    {"leases_recalled", "Leases returned because a node refused a request."},
    {"lease_units",
     "Leased units: granted by Redis, or refunded by requests; spent on requests, returned to "
     "Redis, "
     "or lost.",
     "event",
     {"granted", "spent", "returned", "lost"}},
    {"lost_calls",
     "Acquires that asked for a lease and whose reply never came, per plan table: noted; "
     "taken_back "
     "(Redis has taken back what they had counted) or left.",
     "event",
     {"noted", "taken_back", "left"}},
    {"flights",
     "Requests with `in_flight`: entered; refused, because the limit was reached.",
     "event",
     {"entered", "refused"}},
    {"cost_units",
     "Units of requests with `settle=`, once per request; reserved before, settled at the end.",
     "event",
     {"reserved", "settled"}},
    {"usage_missing",
     "Successful responses without a value that `tollgate_response_json` requires."},
    {"owed_units",
     "Units granted while Redis was unreachable, or used beyond a reservation: noted; settled "
     "(reported to Redis) or lapsed (their window ended first).",
     "event",
     {"noted", "settled", "lapsed"}},
});

/// The place in the table of the counter `errors`, or `commands.acquire` if it has a label. Returns
/// the number of counters if there is none of this name.
constexpr std::size_t counter_index(std::string_view name) {
    const auto family_name = name.substr(0, name.find('.'));
    const auto label_value = name.substr(std::min(family_name.size() + 1, name.size()));
    std::size_t index = 0;
    for (const CounterFamily& family : kRedisCounters) {
        for (const std::string_view value : family.values()) {
            if (family.name == family_name && value == label_value) {
                return index;
            }
            ++index;
        }
    }
    return index;
}

inline constexpr std::size_t kRedisCounterCount = counter_index("");

/// The name of a counter in the source. One that is not in the table does not compile.
struct CounterName {
    consteval CounterName(const char* name) : index(counter_index(name)) {
        if (index == kRedisCounterCount) {
            throw std::out_of_range("no such counter");
        }
    }

    std::size_t index;
};

}  // namespace tollgate
