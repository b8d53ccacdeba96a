#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "module/report/hour.hpp"
#include "module/report/lock_statistics.hpp"
#include "module/report/statistics.hpp"

namespace tollgate {

/// The contents of `tollgate_status`: a copy of the statistics, and facts about the node.
struct Status {
    struct Requests {
        std::string tables;  ///< joined by `+`, as one `tollgate` directive names them
        std::string plan;    ///< the plan in the first of them; empty for requests without a plan
        RequestStatistics counts;
        /// of these tables, in the same form; empty if no configured directive names them
        std::string unit{};
    };
    /// A master of a cluster, as the answering worker sees it.
    struct Master {
        std::string address;
        std::size_t slots = 0;  ///< that it serves
        bool is_reachable = false;
    };
    struct Redis {
        std::string name;
        RedisStatistics counts;
        RedisWorkers workers{};
        bool is_configured = false;     ///< not removed since the zone was made
        std::string kind = "server";    ///< the directive that names the servers
        std::string_view on_failure{};  ///< the directive's value; empty unless is_configured
        std::uint64_t in_flight = 0;    ///< requests of plans with `in_flight` at this node
        std::uint64_t nodes = 0;        ///< that share it, when it was last reachable; 0: unknown
        std::string master{};           ///< the address that Sentinel reported; empty if unknown
        std::vector<Master> masters{};  ///< of a cluster
        std::optional<std::chrono::seconds>
            map_age{};  ///< of a cluster's slot map, if there is one
    };

    std::string_view version;
    std::chrono::sys_seconds now;
    std::size_t workers = 0;
    std::size_t zone_size = 0;  ///< bytes
    NodeStatistics node;
    std::array<StoreStatistics, kStores.size()> stores{};
    std::vector<Requests> requests;
    std::vector<Redis> redis;
    Hour hour{};
    std::optional<LockStatistics> lock{};  ///< only of a build that measures it
};

/// What distinguishes the counts of requests: a member of each of `requests[]` in JSON, a label of
/// each of their metrics in Prometheus.
struct RequestLabel {
    std::string_view name;
    std::string Status::Requests::*value;
};

inline constexpr auto kRequestLabels = std::to_array<RequestLabel>({
    {"tables", &Status::Requests::tables},
    {"unit", &Status::Requests::unit},
    {"plan", &Status::Requests::plan},
});

/// A gauge of a `tollgate_redis`: the member `name` of `redis[]` in JSON, `tollgate_redis_NAME` in
/// Prometheus. `workers` is the number of the node's workers.
struct RedisGauge {
    std::string_view name;
    std::string_view help;
    std::uint64_t (*value)(const Status::Redis& redis, std::size_t workers);
};

/// Every gauge that a Redis has, however it is configured.
inline constexpr auto kRedisGauges = std::to_array<RedisGauge>({
    {"nodes", "Nodes that share this Redis, when it was last reachable; 0 if unknown.",
     [](auto& redis, std::size_t /*workers*/) { return redis.nodes; }},
    {"in_flight", "Requests of this node in progress whose plan has `in_flight`.",
     [](auto& redis, std::size_t /*workers*/) { return redis.in_flight; }},
    {"breaker_open_workers", "Workers whose circuit breaker is open.",
     [](auto& redis, std::size_t workers) { return redis.workers.breaker_open.count(workers); }},
    {"subscribed_workers", "Workers that learn of changes of keys at once.",
     [](auto& redis, std::size_t workers) { return redis.workers.subscribed.count(workers); }},
});

/// A number of each of the zone's tables: the member `name` of `zone.stores.STORE` in JSON,
/// `tollgate_zone_NAME` with the label `store` in Prometheus.
struct StoreMetric {
    std::string_view name;
    std::string_view type;  ///< in Prometheus, `counter` or `gauge`
    std::string_view help;
    std::uint64_t StoreStatistics::*value;
};

inline constexpr auto kStoreMetrics = std::to_array<StoreMetric>({
    {"entries", "gauge", "Entries in each of the zone's tables.", &StoreStatistics::used},
    {"entries_max", "gauge", "Capacity of each of the zone's tables.", &StoreStatistics::size},
    {"evictions", "counter", "Entries evicted from each of the zone's tables.",
     &StoreStatistics::evictions},
});

/// The format of the status.
enum class StatusFormat { kJson, kPrometheus };

/// The format that an `Accept` field (RFC 9110 section 12.5.1) selects: Prometheus's if it names
/// `text/plain` or OpenMetrics and prefers it to `application/json`, else JSON. Ranges such as
/// `*/*` select JSON.
StatusFormat preferred_status_format(std::string_view accept);

/// The status as a JSON object; module/docs/operations.md describes it.
std::string status_json(const Status& status);

/// Whether a Redis is reachable: none of so many workers has an open breaker.
bool is_reachable(const Status::Redis& redis, std::size_t workers);

/// Whether every configured Redis is reachable.
bool is_ready(const Status& status);

/// The readiness as a JSON object; module/docs/operations.md describes it.
std::string readiness_json(const Status& status);

/// The status in Prometheus's text format 0.0.4; module/docs/operations.md lists the metrics.
std::string status_prometheus(const Status& status);

}  // namespace tollgate
