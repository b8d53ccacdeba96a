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
        json.member("tables", requests.tables);
        json.member("plan", requests.plan);
        add(json, "verdicts", requests.counts.decided);
        add(json, "dry_run", requests.counts.dry_run);
    });
}

/// Cumulative, as in Prometheus.
void add(JsonWriter& json, std::string_view name, const Histogram& histogram) {
    std::uint64_t all = 0;
    for (const Counter& counter : histogram.classes) {
        all += counter.value();
    }
    json.object(name, [&] {
        json.member("count", all);
        json.member("sum",
                    static_cast<double>(histogram.microseconds.value()) / kMicrosecondsPerSecond);
        json.array("buckets", [&] {
            std::uint64_t count = 0;
            for (std::size_t i = 0; i < Histogram::kBounds.size(); ++i) {
                count += histogram.classes[i].value();
                const auto bound = static_cast<double>(Histogram::kBounds[i].count());
                json.object([&] {
                    json.member("le", bound / kMicrosecondsPerSecond);
                    json.member("count", count);
                });
            }
        });
    });
}

/// A counter, or a number of workers, and its name.
template <typename Value>
using Member = std::pair<std::string_view, Value>;

template <typename... Values>
void add_object(JsonWriter& json, std::string_view name, const Member<Values>&... members) {
    json.object(name, [&] { (json.member(members.first, members.second), ...); });
}

template <typename Value>
Member<Value> pair(std::string_view name, Value value) {
    return {name, value};
}

void add(JsonWriter& json, const Status::Redis& redis, std::size_t workers) {
    const RedisStatistics& counts = redis.counts;
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
            json.member("map_age", redis.map_age->count());
        }
        json.member("nodes", redis.nodes);
        json.member("failovers", counts.failovers.value());
        add_object(json, "commands", pair("acquire", counts.acquires.value()),
                   pair("lookup", counts.lookups.value()));
        json.member("errors", counts.errors.value());
        json.member("reconnects", counts.reconnects.value());
        json.member("redirections", counts.redirections.value());
        add_object(json, "tls", pair("handshakes", counts.tls_handshakes.value()),
                   pair("resumed", counts.tls_resumed.value()));
        add_object(json, "breaker", pair("open_workers", redis.workers.breaker_open.count(workers)),
                   pair("opened", counts.breaker_opened.value()));
        json.member("subscribed_workers", redis.workers.subscribed.count(workers));
        add(json, "round_trip_seconds", counts.round_trips);
        add_object(json, "key_cache", pair("hits", counts.keys.hits.value()),
                   pair("negative_hits", counts.keys.negative_hits.value()),
                   pair("misses", counts.keys.misses.value()));
        json.member("retiring_key_uses", counts.keys.retiring.value());
        add_object(json, "decisions", pair("redis", counts.decisions.by_redis.value()),
                   pair("lease", counts.decisions.by_lease.value()),
                   pair("refusal", counts.decisions.by_refusal.value()),
                   pair("alone", counts.decisions.alone.value()));
        add_object(json, "leases", pair("number", counts.leases.number.value()),
                   pair("granted", counts.leases.granted.value()),
                   pair("spent", counts.leases.spent.value()),
                   pair("returned", counts.leases.returned.value()),
                   pair("lost", counts.leases.lost.value()));
        add_object(json, "owed", pair("noted", counts.owed.value()),
                   pair("settled", counts.settled.value()), pair("lapsed", counts.lapsed.value()));
    });
}

void add_stores(JsonWriter& json, const Status& status) {
    json.object("stores", [&] {
        for (const Store store : kStores) {
            const StoreStatistics& counts = status.stores[static_cast<std::size_t>(store)];
            if (counts.size != 0) {
                add_object(json, name_of(store), pair("size", counts.size),
                           pair("used", counts.used), pair("evictions", counts.evictions));
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

bool is_reachable(const Status::Redis& redis, std::size_t workers) {
    return redis.workers.breaker_open.count(workers) == 0;
}

}  // namespace

std::string status_json(const Status& status) {
    const auto now = status.now.time_since_epoch().count();
    const auto started = status.node.started.value();
    JsonWriter json;
    json.object([&] {
        json.member("version", status.version);
        json.member("started", started);
        json.member("uptime", now - started);
        json.member("workers", status.workers);
        json.object("zone", [&] {
            json.member("size", status.zone_size);
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
