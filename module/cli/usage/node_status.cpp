#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <iterator>
#include <string_view>
#include <utility>
#include <vector>

#include "module/cli/commands/commands.hpp"
#include "module/cli/failure.hpp"
#include "module/cli/terminal/json_value.hpp"
#include "module/cli/terminal/output.hpp"
#include "module/cli/terminal/printable.hpp"
#include "module/cli/terminal/result_format.hpp"
#include "module/cli/terminal/text_layout.hpp"
#include "module/cli/terminal/time_text.hpp"
#include "module/cli/usage/http_client.hpp"
#include "module/report/redis_counters.hpp"
#include "module/text/rfc3339.hpp"

namespace tollgate::cli {

namespace {

std::string text_at(const Json& json, const std::string& path) {
    const Json value = value_at(json, path);
    if (value.is_string()) {
        const auto text = value.get<std::string>();
        return text.empty() ? "-" : text;
    }
    return value.is_number() ? value.dump() : "-";
}

std::string heading_of(std::string text) {
    std::ranges::transform(text, text.begin(), [](unsigned char c) {
        return c == '_' ? ' ' : static_cast<char>(std::toupper(c));
    });
    return text;
}

std::string formatted(const char* format, double value) {
    std::array<char, 64> text{};
    const int length = std::snprintf(text.data(), text.size(), format, value);
    return {text.data(), static_cast<std::size_t>(length)};
}

std::string percent(std::int64_t part, std::int64_t whole) {
    constexpr double kPercent = 100;
    return whole == 0 ? "-"
                      : formatted("%.1f%%", kPercent * static_cast<double>(part) /
                                                static_cast<double>(whole));
}

std::string bytes(std::int64_t size) {
    constexpr std::int64_t kKibi = 1024;
    if (size >= kKibi * kKibi && size % (kKibi * kKibi) == 0) {
        return std::to_string(size / (kKibi * kKibi)) + " MiB";
    }
    return std::to_string(size / kKibi) + " KiB";
}

/// The upper bound of the histogram class that contains the quantile.
std::string quantile(const Json& histogram, double part) {
    constexpr double kMilliseconds = 1000;
    const auto count = number_at(histogram, "/count");
    if (count == 0) {
        return "-";
    }
    const double wanted = part * static_cast<double>(count);
    double last = 0;
    for (const auto& bucket : value_at(histogram, "/buckets")) {
        last = bucket.value("le", 0.0);
        if (static_cast<double>(number_at(bucket, "/count")) >= wanted) {
            return "<" + formatted("%gms", last * kMilliseconds);
        }
    }
    return ">" + formatted("%gms", last * kMilliseconds);
}

Rows summary(const Json& status) {
    const std::chrono::sys_seconds started{
        std::chrono::seconds(number_at(status, "/start_time_seconds"))};
    return {{"version", text_at(status, "/version")},
            {"counting since",
             format_time(started) + " (" +
                 format_duration(std::chrono::seconds(number_at(status, "/uptime"))) + ")"},
            {"workers", text_at(status, "/workers")},
            {"zone", bytes(number_at(status, "/zone/size_bytes"))}};
}

/// Requests by table and plan, with one column for each verdict that has a count.
Rows verdicts(const Json& requests, const std::string& path) {
    std::vector<std::string> names;
    for (const auto& one : requests) {
        const Json counts = value_at(one, path);
        for (const auto& [name, count] : counts.items()) {
            if (count != 0 && std::ranges::find(names, name) == names.end()) {
                names.push_back(name);
            }
        }
    }
    Rows rows;
    if (names.empty()) {
        return rows;
    }
    rows.push_back({"TABLES", "PLAN"});
    std::ranges::transform(names, std::back_inserter(rows.front()), heading_of);
    for (const auto& one : requests) {
        rows.push_back({text_at(one, "/tables"), text_at(one, "/plan")});
        for (const auto& name : names) {
            rows.back().push_back(text_at(value_at(one, path), "/" + name));
        }
    }
    return rows;
}

/// One line for each figure and each counter, one column for each Redis.
Rows servers(const Json& redis, const Json& workers) {
    Rows rows;
    const auto add = [&](std::string heading, const auto& value_of) {
        rows.push_back({std::move(heading)});
        std::ranges::transform(redis, std::back_inserter(rows.back()), value_of);
    };
    const auto all = workers.is_number() ? workers.get<std::int64_t>() : 0;
    const auto of_workers = [&](std::int64_t count) {
        return std::to_string(count) + " of " + std::to_string(all) + " workers";
    };
    add("REDIS", [](const Json& one) { return text_at(one, "/name"); });
    add("reachable from",
        [&](const Json& one) { return of_workers(all - number_at(one, "/breaker_open_workers")); });
    add("subscribed",
        [&](const Json& one) { return of_workers(number_at(one, "/subscribed_workers")); });
    add("round trip, median",
        [](const Json& one) { return quantile(value_at(one, "/round_trip_seconds"), 0.5); });
    add("round trip, 99 %",
        [](const Json& one) { return quantile(value_at(one, "/round_trip_seconds"), 0.99); });
    add("key cache hits", [](const Json& one) {
        const auto known = number_at(one, "/key_cache_lookups/hit") +
                           number_at(one, "/key_cache_lookups/negative_hit");
        return percent(known, known + number_at(one, "/key_cache_lookups/miss"));
    });
    add("leased units spent", [](const Json& one) {
        return percent(number_at(one, "/lease_units/spent"),
                       number_at(one, "/lease_units/granted"));
    });
    add("units owed", [](const Json& one) {
        return std::to_string(number_at(one, "/owed_units/noted") -
                              number_at(one, "/owed_units/settled") -
                              number_at(one, "/owed_units/lapsed"));
    });
    for (const CounterFamily& family : kRedisCounters) {
        for (const std::string_view value : family.values()) {
            std::string path = "/";
            path.append(family.name).append(value.empty() ? "" : "/").append(value);
            std::string heading = path.substr(1);
            std::ranges::replace_if(
                heading, [](char c) { return c == '/' || c == '_'; }, ' ');
            add(heading, [&](const Json& one) { return text_at(one, path); });
        }
    }
    return rows;
}

Rows stores(const Json& zone) {
    Rows rows{{"ZONE", "USED", "PLACES", "FULL", "EVICTIONS"}};
    const Json all = value_at(zone, "/stores");
    for (const auto& [name, store] : all.items()) {
        rows.push_back({name, text_at(store, "/entries"), text_at(store, "/entries_max"),
                        percent(number_at(store, "/entries"), number_at(store, "/entries_max")),
                        text_at(store, "/evictions")});
    }
    return rows;
}

/// Formats a `tollgate_status` document as tables. Members that the version of the node does not
/// have are shown as `-`.
std::string render_status(const Json& status) {
    const Json requests = value_at(status, "/requests");
    std::string text = align_columns(summary(status));
    const auto decided = verdicts(requests, "/verdicts");
    text += decided.empty() ? "\nNo requests yet.\n" : "\n" + align_columns(decided);
    if (const auto dry_run = verdicts(requests, "/dry_run"); !dry_run.empty()) {
        text += "\nDry runs (nothing is refused):\n" + align_columns(dry_run);
    }
    if (const Json redis = value_at(status, "/redis"); !redis.empty()) {
        text += "\n" + align_columns(servers(redis, value_at(status, "/workers")));
    }
    if (const auto rows = stores(value_at(status, "/zone")); rows.size() > 1) {
        text += "\n" + align_columns(rows);
    }
    return text;
}

}  // namespace

void print_node_status(const std::string& url, Format format) {
    const auto node = parse_http_url(url);
    const auto body = http_get(node);
    const auto status = Json::parse(body, nullptr, false);
    if (!status.is_object() || !status.contains("version") || !status.contains("requests")) {
        throw Failure(ExitStatus::kRedis,
                      node.address + " does not return a tollgate_status document: check the URL");
    }
    require_print(format == Format::kJson ? printable_json(body) + "\n" : render_status(status));
}

}  // namespace tollgate::cli
