#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <map>
#include <tuple>

#include "module/cli/commands/commands.hpp"
#include "module/cli/commands/operation_failure.hpp"
#include "module/cli/terminal/json_value.hpp"
#include "module/cli/terminal/result_format.hpp"
#include "module/cli/terminal/terminal.hpp"
#include "module/cli/terminal/text_layout.hpp"
#include "module/cli/terminal/time_text.hpp"
#include "module/cli/usage/quota_watch.hpp"
#include "module/management/groups.hpp"
#include "module/management/key_reader.hpp"
#include "module/text/duration.hpp"
#include "module/text/parse_error.hpp"

namespace tollgate::cli {

namespace {

using namespace std::chrono_literals;

/// A line of `tollgate top`.
struct TopRow {
    ActiveQuota quota;
    KeyRecord record;  ///< empty if the key has expired; of a group, its plan
};

/// The number of lines of a refresh besides the rows.
constexpr std::size_t kTopHeadLines = 4;

std::string time_of(Instant instant) {
    return format_time(std::chrono::floor<std::chrono::seconds>(instant));
}

std::string rate_text(double rate, bool exact) {
    std::array<char, 64> text{};
    const int length = std::snprintf(text.data(), text.size(), "%.1f%s", rate, exact ? "" : "+");
    return {text.data(), static_cast<std::size_t>(length)};
}

double rounded(double rate) {
    constexpr double kThousandths = 1000;
    return std::round(rate * kThousandths) / kThousandths;
}

Json time_json(const std::optional<Instant>& time) {
    return time ? Json(time_of(*time)) : Json(nullptr);
}

std::string json_of(const QuotaWatch& watch, std::size_t active, const std::vector<TopRow>& shown) {
    Json rows = Json::array();
    for (const auto& [quota, record] : shown) {
        rows.push_back(
            {{"id", quota.id},
             {"name", json_or_null(record.name)},
             {"plan", json_or_null(record.plan)},
             {"table", json_or_null(quota.table)},
             {"granted_per_second", rounded(quota.granted)},
             {"exact", quota.exact},
             {"refused_per_second", quota.refused ? Json(rounded(*quota.refused)) : Json(nullptr)},
             {"banned_until", time_json(quota.banned_until)},
             {"last_use", time_json(quota.last_use)}});
    }
    return json_document({{"time", time_of(watch.now())},
                          {"ids", watch.ids()},
                          {"sampled", !watch.is_complete()},
                          {"active", active},
                          {"rows", std::move(rows)}},
                         -1);
}

std::string heading(const QuotaWatch& watch, std::size_t active, std::size_t shown) {
    std::string text = time_of(watch.now()) + "  ";
    if (watch.is_complete()) {
        text += std::to_string(watch.ids()) + " ids";
    } else {
        constexpr double kPercent = 100;
        text += "sample: the busiest " + std::to_string(watch.ids()) + " ids found so far";
        if (const auto progress = watch.progress()) {
            text +=
                ", " + std::to_string(std::lround(*progress * kPercent)) + " % of Redis scanned";
        }
    }
    text += ", " + std::to_string(active) + " active";
    if (active > shown) {
        text += ", " + std::to_string(shown) + " shown";
    }
    return text + "\n\n";
}

std::string ban_text(const ActiveQuota& quota) {
    if (!quota.banned_until) {
        return "-";
    }
    return "until " + time_of(*quota.banned_until) +
           (quota.last_use ? ", last request " + time_of(*quota.last_use) : "");
}

/// Formats one refresh: lines of text, or a JSON document on one line. `active` is the number of
/// rows without a limit.
std::string render_top(Format format, const QuotaWatch& watch, std::size_t active,
                       const std::vector<TopRow>& shown) {
    if (format == Format::kJson) {
        return json_of(watch, active, shown);
    }
    Rows rows{{"ID", "NAME", "PLAN", "TABLE", "GRANTED/S", "REFUSED/S", "BANNED"}};
    for (const auto& [quota, record] : shown) {
        rows.push_back({quota.id, text_or_dash(record.name), text_or_dash(record.plan),
                        text_or_dash(quota.table), rate_text(quota.granted, quota.exact),
                        quota.refused ? rate_text(*quota.refused, true) : "-", ban_text(quota)});
    }
    return heading(watch, active, shown.size()) + align_columns(rows);
}

std::chrono::milliseconds parse_interval(const std::string& text) {
    try {
        const auto interval = parse_duration(text);
        if (interval >= 100ms && interval <= 1h) {
            return interval;
        }
    } catch (const ParseError&) {  // reported below
    }
    throw Failure(ExitStatus::kUsage, "--interval: invalid time \"" + text + "\": use 100ms to 1h");
}

/// Whether a banned id sends requests. How many is not known, because gateways refuse them without
/// Redis. A use is a minute, and is known soon after its begin.
bool still_sends(const ActiveQuota& quota, Instant now) {
    return quota.last_use && now - *quota.last_use < 2min;
}

/// Sorts the quotas by `sort`, descending, banned ids that still send first, and returns the first
/// `limit` ones.
std::vector<ActiveQuota> busiest(std::vector<ActiveQuota> active, Instant now,
                                 const std::string& sort, std::size_t limit) {
    const bool by_refusals = sort == "refusals";
    std::ranges::sort(active, [&](const ActiveQuota& a, const ActiveQuota& b) {
        const auto rank = [&](const ActiveQuota& quota) {
            const double refused = quota.refused.value_or(0);
            return std::tuple(still_sends(quota, now),
                              by_refusals ? refused : quota.granted + refused, quota.granted);
        };
        return rank(a) != rank(b) ? rank(a) > rank(b)
                                  : std::tie(a.id, a.table) < std::tie(b.id, b.table);
    });
    active.resize(std::min(active.size(), limit));
    return active;
}

/// Reads the names and plans of the quotas on the screen. An id may have several.
std::vector<TopRow> with_records(RedisSession& session, std::vector<ActiveQuota> active) {
    management::KeyReader reader(session, session.keys());
    std::map<std::string, KeyRecord> ids;
    std::vector<std::string> groups;
    for (const auto& quota : active) {
        if (quota.is_of_group) {
            groups.push_back(quota.id);
        } else {
            ids.try_emplace(quota.id);
        }
    }
    std::vector<std::string> names;
    names.reserve(ids.size());
    for (const auto& [id, record] : ids) {
        names.push_back(id);
    }
    for (auto& keys : complete(reader.keys_of(std::move(names)))) {
        if (!keys.keys.empty()) {
            ids[keys.id] = std::move(keys.keys.front().record);
        }
    }
    const auto of_groups =
        complete(management::records_of_groups(session, session.keys(), std::move(groups)));
    auto of_group = of_groups.begin();
    std::vector<TopRow> rows;
    for (auto& quota : active) {
        KeyRecord record;
        if (!quota.is_of_group) {
            record = ids[quota.id];
        } else if (const auto& stored = *of_group++) {
            record = management::record_of(*stored);
        }
        rows.push_back({.quota = std::move(quota), .record = std::move(record)});
    }
    return rows;
}

}  // namespace

/// On a terminal each refresh overwrites the previous one, and the key `q` ends the function.
void watch_top(RedisSession& session, const CommandLine& line) {
    const auto& options = line.top;
    const auto interval = parse_interval(options.interval);
    QuotaWatch watch(session, options.budget);
    Screen screen(line.format() == Format::kText);
    watch.poll();
    for (std::uint64_t printed = 0; options.count == 0 || printed < options.count; ++printed) {
        if (!screen.wait(interval)) {
            return;
        }
        watch.poll();
        auto active = watch.active();
        const auto count = active.size();
        const auto limit = std::min(options.limit, screen.lines_left(kTopHeadLines));
        const auto rows =
            with_records(session, busiest(std::move(active), watch.now(), options.sort, limit));
        screen.show(render_top(line.format(), watch, count, rows));
    }
}

}  // namespace tollgate::cli
