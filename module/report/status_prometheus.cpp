#include "module/report/status.hpp"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <string_view>
#include <utility>

namespace tollgate {

namespace {

using Label = std::pair<std::string_view, std::string_view>;
using Labels = std::initializer_list<Label>;

/// A label value, escaped for the format.
std::string escaped(std::string_view value) {
    std::string text;
    for (const char c : value) {
        if (c == '\n') {
            text += "\\n";
            continue;
        }
        if (c == '\\' || c == '"') {
            text += '\\';
        }
        text += c;
    }
    return text;
}

/// Converts microseconds to seconds, exactly: `0.00005`, `1`.
std::string seconds(std::uint64_t microseconds) {
    constexpr std::uint64_t kPerSecond = 1'000'000;
    std::string text = std::to_string(microseconds / kPerSecond);
    if (const auto rest = microseconds % kPerSecond; rest != 0) {
        text += '.' + std::to_string(kPerSecond + rest).substr(1);
        text.erase(text.find_last_not_of('0') + 1);
    }
    return text;
}

/// Builds the text, family by family.
class Exposition {
  public:
    void family(std::string_view name, std::string_view type, std::string_view help) {
        name_ = name;
        text_.append("# HELP ").append(name).append(" ").append(help).append("\n");
        text_.append("# TYPE ").append(name).append(" ").append(type).append("\n");
    }

    /// Adds a sample of the last family. `suffix` is for the samples of a histogram.
    void sample(std::string_view suffix, Labels labels, std::string_view value) {
        text_.append(name_).append(suffix);
        char separator = '{';
        for (const auto& [label, label_value] : labels) {
            text_ += separator;
            text_.append(label).append("=\"").append(escaped(label_value)).append("\"");
            separator = ',';
        }
        text_.append(labels.size() == 0 ? " " : "} ").append(value).append("\n");
    }
    template <typename Number>
    void sample(Labels labels, Number value) {
        sample("", labels, std::to_string(value));
    }

    std::string take() { return std::move(text_); }

  private:
    std::string_view name_;
    std::string text_;
};

void write_requests(Exposition& out, const Status& status) {
    const auto write = [&](const VerdictCounts RequestStatistics::*counts) {
        for (const auto& requests : status.requests) {
            for (const Verdict verdict : kVerdicts) {
                out.sample({{"tables", requests.tables},
                            {"plan", requests.plan},
                            {"verdict", statistics_name(verdict)}},
                           (requests.counts.*counts)[verdict].value());
            }
        }
    };
    out.family("tollgate_requests_total", "counter", "Requests by verdict, each counted once.");
    write(&RequestStatistics::decided);
    out.family("tollgate_dry_run_requests_total", "counter",
               "Requests with tollgate_dry_run on, by the verdict that was not enforced.");
    write(&RequestStatistics::dry_run);
}

void write_stores(Exposition& out, const Status& status) {
    const auto write = [&](auto value) {
        for (const Store store : kStores) {
            const auto& counts = status.stores[static_cast<std::size_t>(store)];
            if (counts.size != 0) {
                out.sample({{"store", name_of(store)}}, value(counts));
            }
        }
    };
    out.family("tollgate_zone_entries", "gauge", "Entries in each of the zone's tables.");
    write([](const StoreStatistics& s) { return s.used; });
    out.family("tollgate_zone_entries_max", "gauge", "Capacity of each of the zone's tables.");
    write([](const StoreStatistics& s) { return s.size; });
    out.family("tollgate_zone_evictions_total", "counter",
               "Entries evicted from each of the zone's tables.");
    write([](const StoreStatistics& s) { return s.evictions; });
}

/// A counter of a Redis, and the value of the family's label; empty if the family has none.
struct RedisCounter {
    std::string_view label;
    const Counter* (*of)(const RedisStatistics&);
};

void write_counters(Exposition& out, const Status& status, std::string_view label,
                    std::initializer_list<RedisCounter> counters) {
    for (const auto& redis : status.redis) {
        for (const auto& counter : counters) {
            const auto value = counter.of(redis.counts)->value();
            if (label.empty()) {
                out.sample({{"redis", redis.name}}, value);
            } else {
                out.sample({{"redis", redis.name}, {label, counter.label}}, value);
            }
        }
    }
}

/// A gauge of each configured Redis: one that was removed has no present state.
void write_gauge(Exposition& out, const Status& status, const auto& value_of) {
    for (const auto& redis : status.redis) {
        if (redis.is_configured) {
            out.sample({{"redis", redis.name}}, value_of(redis));
        }
    }
}

void write_workers(Exposition& out, const Status& status, WorkerSet RedisWorkers::*workers) {
    write_gauge(out, status, [&](const Status::Redis& redis) {
        return (redis.workers.*workers).count(status.workers);
    });
}

/// Families without a sample are left out.
bool any_redis(const Status& status, bool (*has_sample)(const Status::Redis& redis)) {
    return std::ranges::any_of(status.redis, has_sample);
}

void write_masters(Exposition& out, const Status& status) {
    if (!any_redis(status, [](const Status::Redis& redis) { return !redis.master.empty(); })) {
        return;
    }
    out.family("tollgate_redis_master_info", "gauge",
               "The address of the master that Sentinel reported; the value is 1.");
    for (const auto& redis : status.redis) {
        if (!redis.master.empty()) {
            out.sample({{"redis", redis.name}, {"address", redis.master}}, 1);
        }
    }
}

void write_cluster(Exposition& out, const Status& status) {
    if (!any_redis(status, [](const Status::Redis& redis) { return redis.map_age.has_value(); })) {
        return;
    }
    const auto each_master = [&](const auto& value_of) {
        for (const auto& redis : status.redis) {
            for (const Status::Master& master : redis.masters) {
                out.sample({{"redis", redis.name}, {"address", master.address}}, value_of(master));
            }
        }
    };
    out.family("tollgate_redis_master_slots", "gauge",
               "Hash slots that a master of a cluster serves.");
    each_master([](const Status::Master& master) { return master.slots; });
    out.family("tollgate_redis_master_reachable", "gauge",
               "1 if a master of a cluster is reachable from the answering worker, otherwise 0.");
    each_master([](const Status::Master& master) { return master.is_reachable ? 1U : 0U; });
    out.family("tollgate_redis_slot_map_age_seconds", "gauge",
               "Time since the answering worker read the slot map.");
    for (const auto& redis : status.redis) {
        if (redis.map_age) {
            out.sample({{"redis", redis.name}}, static_cast<std::uint64_t>(redis.map_age->count()));
        }
    }
}

void write_round_trips(Exposition& out, const Status& status) {
    out.family("tollgate_redis_round_trip_seconds", "histogram",
               "Time from a call to the reply of Redis.");
    for (const auto& redis : status.redis) {
        const Histogram& histogram = redis.counts.round_trips;
        std::uint64_t count = 0;
        for (std::size_t i = 0; i < histogram.classes.size(); ++i) {
            count += histogram.classes[i].value();
            const bool last = i == Histogram::kBounds.size();
            const std::string bound =
                last ? "+Inf" : seconds(static_cast<std::uint64_t>(Histogram::kBounds[i].count()));
            out.sample("_bucket", {{"redis", redis.name}, {"le", bound}}, std::to_string(count));
        }
        out.sample("_sum", {{"redis", redis.name}}, seconds(histogram.microseconds.value()));
        out.sample("_count", {{"redis", redis.name}}, std::to_string(count));
    }
}

using Redis = RedisStatistics;

void write_connections(Exposition& out, const Status& status) {
    out.family("tollgate_redis_commands_total", "counter", "Commands sent to Redis.");
    write_counters(out, status, "command",
                   {{"acquire", [](const Redis& r) { return &r.acquires; }},
                    {"lookup", [](const Redis& r) { return &r.lookups; }}});
    out.family("tollgate_redis_errors_total", "counter",
               "Commands with an error reply, a late reply or no reply.");
    write_counters(out, status, "", {{"", [](const Redis& r) { return &r.errors; }}});
    out.family("tollgate_redis_reconnects_total", "counter",
               "New connections to Redis after a lost one.");
    write_counters(out, status, "", {{"", [](const Redis& r) { return &r.reconnects; }}});
    out.family("tollgate_redis_tls_handshakes_total", "counter",
               "Successful TLS handshakes with Redis.");
    write_counters(out, status, "", {{"", [](const Redis& r) { return &r.tls_handshakes; }}});
    out.family("tollgate_redis_tls_resumed_total", "counter",
               "TLS handshakes with Redis that resumed a session.");
    write_counters(out, status, "", {{"", [](const Redis& r) { return &r.tls_resumed; }}});
    out.family("tollgate_redis_failovers_total", "counter",
               "How often Sentinel reported another master.");
    write_counters(out, status, "", {{"", [](const Redis& r) { return &r.failovers; }}});
    out.family("tollgate_redis_nodes", "gauge",
               "Nodes that share this Redis, when it was last reachable; 0 if unknown.");
    write_gauge(out, status, [](const Status::Redis& redis) { return redis.nodes; });
    write_masters(out, status);
    out.family("tollgate_redis_redirections_total", "counter",
               "Calls that a cluster redirected with MOVED or ASK.");
    write_counters(out, status, "", {{"", [](const Redis& r) { return &r.redirections; }}});
    write_cluster(out, status);
    out.family("tollgate_redis_breaker_opened_total", "counter",
               "How often the circuit breaker of a worker opened.");
    write_counters(out, status, "", {{"", [](const Redis& r) { return &r.breaker_opened; }}});
    out.family("tollgate_redis_breaker_open_workers", "gauge",
               "Workers whose circuit breaker is open.");
    write_workers(out, status, &RedisWorkers::breaker_open);
    out.family("tollgate_redis_subscribed_workers", "gauge",
               "Workers that are subscribed to changes of keys.");
    write_workers(out, status, &RedisWorkers::subscribed);
    write_round_trips(out, status);
}

void write_local_work(Exposition& out, const Status& status) {
    out.family(
        "tollgate_key_cache_lookups_total", "counter",
        "Searches for a key in shared memory: hit, negative_hit (the key does not exist), miss.");
    write_counters(out, status, "result",
                   {{"hit", [](const Redis& r) { return &r.keys.hits; }},
                    {"negative_hit", [](const Redis& r) { return &r.keys.negative_hits; }},
                    {"miss", [](const Redis& r) { return &r.keys.misses; }}});
    out.family("tollgate_retiring_key_uses_total", "counter",
               "Minutes in which a key was used that a rotation has replaced, of all such keys.");
    write_counters(out, status, "", {{"", [](const Redis& r) { return &r.keys.retiring; }}});
    out.family(
        "tollgate_quota_decisions_total", "counter",
        "Requests by what decided their quota: redis, a lease, a cached refusal, the node alone.");
    write_counters(out, status, "by",
                   {{"redis", [](const Redis& r) { return &r.decisions.by_redis; }},
                    {"lease", [](const Redis& r) { return &r.decisions.by_lease; }},
                    {"refusal", [](const Redis& r) { return &r.decisions.by_refusal; }},
                    {"alone", [](const Redis& r) { return &r.decisions.alone; }}});
    out.family("tollgate_leases_total", "counter", "Leases taken from Redis.");
    write_counters(out, status, "", {{"", [](const Redis& r) { return &r.leases.number; }}});
    out.family("tollgate_lease_units_total", "counter",
               "Leased units: granted, spent, returned, lost.");
    write_counters(out, status, "event",
                   {{"granted", [](const Redis& r) { return &r.leases.granted; }},
                    {"spent", [](const Redis& r) { return &r.leases.spent; }},
                    {"returned", [](const Redis& r) { return &r.leases.returned; }},
                    {"lost", [](const Redis& r) { return &r.leases.lost; }}});
    out.family("tollgate_owed_units_total", "counter",
               "Units granted while Redis was unreachable: noted; settled (reported to Redis) or "
               "lapsed (their window ended first).");
    write_counters(out, status, "event",
                   {{"noted", [](const Redis& r) { return &r.owed; }},
                    {"settled", [](const Redis& r) { return &r.settled; }},
                    {"lapsed", [](const Redis& r) { return &r.lapsed; }}});
}

}  // namespace

std::string status_prometheus(const Status& status) {
    Exposition out;
    out.family("tollgate_info", "gauge", "The running version.");
    out.sample({{"version", status.version}}, 1);
    out.family("tollgate_start_time_seconds", "gauge", "When counting began, in Unix time.");
    out.sample({}, status.node.started.value());
    out.family("tollgate_workers", "gauge", "Configured worker processes.");
    out.sample({}, status.workers);
    out.family("tollgate_zone_size_bytes", "gauge", "Size of the shared memory.");
    out.sample({}, status.zone_size);
    write_stores(out, status);
    write_requests(out, status);
    write_connections(out, status);
    write_local_work(out, status);
    return out.take();
}

}  // namespace tollgate
