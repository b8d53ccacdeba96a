#include "module/report/status.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>
#include <vector>

namespace tollgate {

namespace {

using Label = std::pair<std::string_view, std::string_view>;
using Labels = std::vector<Label>;

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

/// Builds the text, family by family. Families without a sample are left out.
class Exposition {
  public:
    /// `section` and `name` are what follows `tollgate`, without the suffix of a counter.
    void family(std::string_view type, std::string_view section, std::string_view name,
                std::string_view help) {
        name_.assign("tollgate_").append(section).append(name);
        name_.append(type == "counter" ? "_total" : "");
        header_.assign("# HELP ").append(name_).append(" ").append(help);
        header_.append("\n# TYPE ").append(name_).append(" ").append(type).append("\n");
    }

    /// Adds a sample of the last family. `suffix` is for the samples of a histogram.
    void sample(std::string_view suffix, const Labels& labels, std::string_view value) {
        text_.append(std::exchange(header_, {})).append(name_).append(suffix);
        char separator = '{';
        for (const auto& [label, label_value] : labels) {
            text_ += separator;
            text_.append(label).append("=\"").append(escaped(label_value)).append("\"");
            separator = ',';
        }
        text_.append(labels.empty() ? " " : "} ").append(value).append("\n");
    }
    template <typename Number>
    void sample(const Labels& labels, Number value) {
        sample("", labels, std::to_string(value));
    }

    std::string take() { return std::move(text_); }

  private:
    std::string name_;
    std::string header_;  ///< of the last family; empty if it is written
    std::string text_;
};

Labels labels_of(const Status::Requests& requests) {
    Labels labels;
    for (const RequestLabel& label : kRequestLabels) {
        labels.emplace_back(label.name, requests.*label.value);
    }
    return labels;
}

void write_requests(Exposition& out, const Status& status) {
    const auto write = [&](const VerdictCounts RequestStatistics::*counts) {
        for (const auto& requests : status.requests) {
            Labels labels = labels_of(requests);
            labels.emplace_back("verdict", "");
            for (const Verdict verdict : kVerdicts) {
                labels.back().second = statistics_name(verdict);
                out.sample(labels, (requests.counts.*counts)[verdict].value());
            }
        }
    };
    out.family("counter", "", "requests", "Requests by verdict, each counted once.");
    write(&RequestStatistics::decided);
    out.family("counter", "", "dry_run_requests",
               "Requests with tollgate_dry_run on, by the verdict that was not enforced.");
    write(&RequestStatistics::dry_run);
    out.family("counter", "", "over_limit_requests", "Requests granted beyond a soft limit.");
    for (const auto& requests : status.requests) {
        out.sample(labels_of(requests), requests.counts.over.value());
    }
}

void write_stores(Exposition& out, const Status& status) {
    for (const StoreMetric& metric : kStoreMetrics) {
        out.family(metric.type, "zone_", metric.name, metric.help);
        for (const Store store : kStores) {
            const auto& counts = status.stores[static_cast<std::size_t>(store)];
            if (counts.size != 0) {
                out.sample({{"store", name_of(store)}}, counts.*metric.value);
            }
        }
    }
}

void write_counters(Exposition& out, const Status& status) {
    std::size_t first = 0;
    for (const CounterFamily& family : kRedisCounters) {
        const auto values = family.values();
        out.family("counter", "redis_", family.name, family.help);
        for (const auto& redis : status.redis) {
            for (std::size_t i = 0; i < values.size(); ++i) {
                const auto count = redis.counts.counters[first + i].value();
                if (family.label.empty()) {
                    out.sample({{"redis", redis.name}}, count);
                } else {
                    out.sample({{"redis", redis.name}, {family.label, values[i]}}, count);
                }
            }
        }
        first += values.size();
    }
}

/// Only of each configured Redis: one that was removed has no present state.
void write_gauges(Exposition& out, const Status& status) {
    for (const RedisGauge& gauge : kRedisGauges) {
        out.family("gauge", "redis_", gauge.name, gauge.help);
        for (const auto& redis : status.redis) {
            if (redis.is_configured) {
                out.sample({{"redis", redis.name}}, gauge.value(redis, status.workers));
            }
        }
    }
}

void write_masters(Exposition& out, const Status& status) {
    out.family("gauge", "redis_", "master_info",
               "The address of the master that Sentinel reported; the value is 1.");
    for (const auto& redis : status.redis) {
        if (!redis.master.empty()) {
            out.sample({{"redis", redis.name}, {"address", redis.master}}, 1);
        }
    }
    const auto each_master = [&](const auto& value_of) {
        for (const auto& redis : status.redis) {
            for (const Status::Master& master : redis.masters) {
                out.sample({{"redis", redis.name}, {"address", master.address}}, value_of(master));
            }
        }
    };
    out.family("gauge", "redis_", "master_slots", "Hash slots that a master of a cluster serves.");
    each_master([](const Status::Master& master) { return master.slots; });
    out.family("gauge", "redis_", "master_reachable",
               "1 if a master of a cluster is reachable from the answering worker, otherwise 0.");
    each_master([](const Status::Master& master) { return master.is_reachable ? 1U : 0U; });
    out.family("gauge", "redis_", "slot_map_age_seconds",
               "Time since the answering worker read the slot map.");
    for (const auto& redis : status.redis) {
        if (redis.map_age) {
            out.sample({{"redis", redis.name}}, redis.map_age->count());
        }
    }
}

void write_round_trips(Exposition& out, const Status& status) {
    out.family("histogram", "redis_", "round_trip_seconds",
               "Time from a call to the reply of Redis.");
    for (const auto& redis : status.redis) {
        const Histogram& histogram = redis.counts.round_trips;
        const auto counts = histogram.cumulative();
        for (std::size_t i = 0; i < counts.size(); ++i) {
            const bool last = i == Histogram::kBounds.size();
            const std::string bound =
                last ? "+Inf" : seconds(static_cast<std::uint64_t>(Histogram::kBounds[i].count()));
            out.sample("_bucket", {{"redis", redis.name}, {"le", bound}},
                       std::to_string(counts[i]));
        }
        out.sample("_sum", {{"redis", redis.name}}, seconds(histogram.microseconds.value()));
        out.sample("_count", {{"redis", redis.name}}, std::to_string(counts.back()));
    }
}

}  // namespace

std::string status_prometheus(const Status& status) {
    Exposition out;
    out.family("gauge", "", "info", "The running version.");
    out.sample({{"version", status.version}}, 1);
    out.family("gauge", "", "start_time_seconds", "When counting began, in Unix time.");
    out.sample({}, status.node.started.value());
    out.family("gauge", "", "workers", "Configured worker processes.");
    out.sample({}, status.workers);
    out.family("gauge", "zone_", "size_bytes", "Size of the shared memory.");
    out.sample({}, status.zone_size);
    write_stores(out, status);
    write_requests(out, status);
    write_counters(out, status);
    write_gauges(out, status);
    write_masters(out, status);
    write_round_trips(out, status);
    return out.take();
}

}  // namespace tollgate
