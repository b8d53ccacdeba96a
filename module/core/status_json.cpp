#include "module/core/status_json.hpp"

#include <nlohmann/json.hpp>

namespace tollgate {

namespace {

using Json = nlohmann::ordered_json;

constexpr double kMicrosecondsPerSecond = 1e6;

Json json_of(const VerdictCounts& counts) {
    Json json = Json::object();
    for (const Verdict verdict : kVerdicts) {
        json[statistics_name(verdict)] = counts[verdict].value();
    }
    return json;
}

Json json_of(const Status::Requests& requests) {
    return {{"tables", requests.tables},
            {"plan", requests.plan},
            {"verdicts", json_of(requests.counts.decided)},
            {"dry_run", json_of(requests.counts.dry_run)}};
}

/// Cumulative, as Prometheus has it.
Json json_of(const Histogram& histogram) {
    Json buckets = Json::array();
    std::uint64_t count = 0;
    for (std::size_t i = 0; i < Histogram::kBounds.size(); ++i) {
        count += histogram.classes[i].value();
        const auto bound = static_cast<double>(Histogram::kBounds[i].count());
        buckets.push_back({{"le", bound / kMicrosecondsPerSecond}, {"count", count}});
    }
    count += histogram.classes.back().value();
    const auto sum = static_cast<double>(histogram.microseconds.value());
    return {
        {"count", count}, {"sum", sum / kMicrosecondsPerSecond}, {"buckets", std::move(buckets)}};
}

Json json_of(const Status::Redis& redis, std::size_t workers) {
    const RedisStatistics& counts = redis.counts;
    return {
        {"name", redis.name},
        {"commands", {{"acquire", counts.acquires.value()}, {"lookup", counts.lookups.value()}}},
        {"errors", counts.errors.value()},
        {"reconnects", counts.reconnects.value()},
        {"breaker",
         {{"open_workers", counts.breaker_open.count(workers)},
          {"opened", counts.breaker_opened.value()}}},
        {"subscribed_workers", counts.subscribed.count(workers)},
        {"round_trip_seconds", json_of(counts.round_trips)},
        {"key_cache",
         {{"hits", counts.keys.hits.value()},
          {"negative_hits", counts.keys.negative_hits.value()},
          {"misses", counts.keys.misses.value()}}},
        {"decisions",
         {{"redis", counts.decisions.by_redis.value()},
          {"lease", counts.decisions.by_lease.value()},
          {"refusal", counts.decisions.by_refusal.value()},
          {"alone", counts.decisions.alone.value()}}},
        {"leases",
         {{"number", counts.leases.number.value()},
          {"granted", counts.leases.granted.value()},
          {"spent", counts.leases.spent.value()},
          {"returned", counts.leases.returned.value()},
          {"lost", counts.leases.lost.value()}}},
        {"owed",
         {{"noted", counts.owed.value()},
          {"settled", counts.settled.value()},
          {"lapsed", counts.lapsed.value()}}},
    };
}

Json stores_of(const Status& status) {
    Json json = Json::object();
    for (const Store store : kStores) {
        const StoreStatistics& counts = status.stores[static_cast<std::size_t>(store)];
        if (counts.size != 0) {
            json[name_of(store)] = {
                {"size", counts.size}, {"used", counts.used}, {"evictions", counts.evictions}};
        }
    }
    return json;
}

}  // namespace

std::string status_json(const Status& status) {
    const auto now = status.now.time_since_epoch().count();
    const auto started = status.node.started.value();
    Json requests = Json::array();
    for (const auto& one : status.requests) {
        requests.push_back(json_of(one));
    }
    Json redis = Json::array();
    for (const auto& one : status.redis) {
        redis.push_back(json_of(one, status.workers));
    }
    const Json body{
        {"version", status.version},
        {"started", started},
        {"uptime", now - started},
        {"workers", status.workers},
        {"zone", {{"size", status.zone_size}, {"stores", stores_of(status)}}},
        {"requests", std::move(requests)},
        {"redis", std::move(redis)},
    };
    return body.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace tollgate
