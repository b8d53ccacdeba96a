#include "module/report/status.hpp"

#include <algorithm>
#include <utility>

#include "module/text/json_writer.hpp"

namespace tollgate {

namespace {

constexpr double kMicrosecondsPerSecond = 1e6;

void add(JsonWriter& json, std::string_view name, const VerdictCounts& counts) {
    json.object(name, [&] {
        for (const Verdict verdict : kVerdicts) {
            json.member(statistics_name(verdict), counts[verdict].value());
        }
    });
}

void add(JsonWriter& json, const Status::Requests& requests) {
    json.object([&] {
        for (const RequestLabel& label : kRequestLabels) {
            json.member(label.name, requests.*label.value);
        }
        add(json, "verdicts", requests.counts.decided);
        add(json, "dry_run", requests.counts.dry_run);
        json.member("over", requests.counts.over.value());
    });
}

/// Cumulative, as in Prometheus.
void add(JsonWriter& json, std::string_view name, const Histogram& histogram) {
    const auto counts = histogram.cumulative();
    json.object(name, [&] {
        json.member("count", counts.back());
        json.member("sum",
                    static_cast<double>(histogram.microseconds.value()) / kMicrosecondsPerSecond);
        json.array("buckets", [&] {
            for (std::size_t i = 0; i < Histogram::kBounds.size(); ++i) {
                const auto bound = static_cast<double>(Histogram::kBounds[i].count());
                json.object([&] {
                    json.member("le", bound / kMicrosecondsPerSecond);
                    json.member("count", counts[i]);
                });
            }
        });
    });
}

void add(JsonWriter& json, const RedisStatistics& counts) {
    auto counter = counts.counters.begin();
    for (const CounterFamily& family : kRedisCounters) {
        json.name(family.name);
        if (family.label.empty()) {
            json.value((counter++)->value());
            continue;
        }
        json.object([&] {
            for (const std::string_view value : family.values()) {
                json.member(value, (counter++)->value());
            }
        });
    }
    add(json, "round_trip_seconds", counts.round_trips);
}

void add(JsonWriter& json, const Status::Redis& redis, std::size_t workers) {
    json.object([&] {
        json.member("name", redis.name);
        json.member("kind", redis.kind);
        if (redis.is_configured) {
            json.member("on_failure", redis.on_failure);
        }
        if (!redis.master.empty()) {
            json.member("master", redis.master);
        }
        if (redis.kind == "cluster") {
            json.array("masters", [&] {
                for (const Status::Master& master : redis.masters) {
                    json.object([&] {
                        json.member("address", master.address);
                        json.member("slots", master.slots);
                        json.member("reachable", master.is_reachable);
                    });
                }
            });
        }
        if (redis.map_age) {
            json.member("slot_map_age_seconds", redis.map_age->count());
        }
        for (const RedisGauge& gauge : kRedisGauges) {
            json.member(gauge.name, gauge.value(redis, workers));
        }
        add(json, redis.counts);
    });
}

void add_stores(JsonWriter& json, const Status& status) {
    json.object("stores", [&] {
        for (const Store store : kStores) {
            const StoreStatistics& counts = status.stores[static_cast<std::size_t>(store)];
            if (counts.size != 0) {
                json.object(name_of(store), [&] {
                    for (const StoreMetric& metric : kStoreMetrics) {
                        json.member(metric.name, counts.*metric.value);
                    }
                });
            }
        }
    });
}

/// The classes up to the last one that is not empty.
void add(JsonWriter& json, std::string_view name, const DurationStatistics& durations) {
    const auto& classes = durations.classes;
    const auto last = std::find_if(classes.rbegin(), classes.rend(),
                                   [](const Counter& count) { return count.value() != 0; });
    json.object(name, [&] {
        json.member("sum", durations.nanoseconds.value());
        json.member("longest", durations.longest.value());
        json.array("classes", [&] {
            for (std::size_t i = 0; i < static_cast<std::size_t>(classes.rend() - last); ++i) {
                json.object([&] {
                    json.member("below", std::uint64_t{1} << i);
                    json.member("count", classes[i].value());
                });
            }
        });
    });
}

void add(JsonWriter& json, const LockStatistics& lock) {
    json.object("lock", [&] {
        json.member("holds", lock.holds.value());
        add(json, "held_nanoseconds", lock.held);
        add(json, "waited_nanoseconds", lock.waited);
    });
}

}  // namespace

bool is_reachable(const Status::Redis& redis, std::size_t workers) {
    return redis.workers.breaker_open.count(workers) == 0;
}

std::string status_json(const Status& status) {
    const auto now = status.now.time_since_epoch().count();
    const auto started = status.node.started.value();
    JsonWriter json;
    json.object([&] {
        json.member("version", status.version);
        json.member("start_time_seconds", started);
        json.member("uptime", now - started);
        json.member("workers", status.workers);
        json.object("zone", [&] {
            json.member("size_bytes", status.zone_size);
            add_stores(json, status);
        });
        if (status.lock) {
            add(json, *status.lock);
        }
        json.array("requests", [&] {
            for (const auto& requests : status.requests) {
                add(json, requests);
            }
        });
        json.array("redis", [&] {
            for (const auto& redis : status.redis) {
                add(json, redis, status.workers);
            }
        });
        json.name("hour");
        write_hour(json, status.hour);
    });
    return std::move(json).take();
}

bool is_ready(const Status& status) {
    return std::ranges::all_of(status.redis, [&](const Status::Redis& redis) {
        return !redis.is_configured || is_reachable(redis, status.workers);
    });
}

std::string readiness_json(const Status& status) {
    JsonWriter json;
    json.object([&] {
        json.member("ready", is_ready(status));
        json.array("redis", [&] {
            for (const auto& redis : status.redis) {
                if (redis.is_configured) {
                    json.object([&] {
                        json.member("name", redis.name);
                        json.member("reachable", is_reachable(redis, status.workers));
                    });
                }
            }
        });
    });
    return std::move(json).take();
}

}  // namespace tollgate
