#include "module/cli/usage/top.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "module/cli/failure.hpp"
#include "module/cli/keys/operation_failure.hpp"
#include "module/cli/redis/session_database.hpp"
#include "module/cli/terminal/result_format.hpp"
#include "module/cli/terminal/terminal.hpp"
#include "module/cli/terminal/text_layout.hpp"
#include "module/cli/terminal/time_text.hpp"
#include "module/cli/usage/quota_watch.hpp"
#include "module/key/key_record.hpp"
#include "module/management/key_reader.hpp"
#include "module/text/duration.hpp"
#include "module/text/parse_error.hpp"
#include "module/text/rfc3339.hpp"

namespace tollgate::cli {

namespace {

using namespace std::chrono_literals;

/// A line of `tollgate top`.
struct TopRow {
    ActiveQuota quota;
    KeyRecord record;  ///< empty if the key has expired
};

/// The content of one refresh of `tollgate top`.
struct TopView {
    Instant now;
    std::size_t ids = 0;             ///< that are watched
    bool complete = true;            ///< all there are
    std::optional<double> progress;  ///< see QuotaWatch
    std::size_t active = 0;
    std::vector<TopRow> rows;
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

std::string json_line(const TopView& view) {
    Json rows = Json::array();
    for (const auto& [quota, record] : view.rows) {
        rows.push_back(
            {{"id", quota.id},
             {"name", json_or_null(record.name)},
             {"plan", json_or_null(record.plan)},
             {"table", json_or_null(quota.table)},
             {"granted_per_second", rounded(quota.granted)},
             {"exact", quota.exact},
             {"refused_per_second", quota.refused ? Json(rounded(*quota.refused)) : Json(nullptr)},
             {"banned_until",
              quota.banned_until ? Json(time_of(*quota.banned_until)) : Json(nullptr)},
             {"last_use", quota.last_use ? Json(time_of(*quota.last_use)) : Json(nullptr)}});
    }
    return json_document({{"time", time_of(view.now)},
                          {"ids", view.ids},
                          {"sampled", !view.complete},
                          {"active", view.active},
                          {"rows", std::move(rows)}},
                         -1);
}

std::string heading(const TopView& view) {
    std::string text = time_of(view.now) + "  ";
    if (view.complete) {
        text += std::to_string(view.ids) + " ids";
    } else {
        constexpr double kPercent = 100;
        text += "sample: the busiest " + std::to_string(view.ids) + " ids found so far";
        if (view.progress) {
            text += ", " + std::to_string(std::lround(*view.progress * kPercent)) +
                    " % of Redis scanned";
        }
    }
    text += ", " + std::to_string(view.active) + " active";
    if (view.active > view.rows.size()) {
        text += ", " + std::to_string(view.rows.size()) + " shown";
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

/// Formats one refresh: lines of text, or a JSON document on one line.
std::string render_top(Format format, const TopView& view) {
    if (format == Format::kJson) {
        return json_line(view);
    }
    std::vector<std::vector<std::string>> rows{
        {"ID", "NAME", "PLAN", "TABLE", "GRANTED/S", "REFUSED/S", "BANNED"}};
    for (const auto& [quota, record] : view.rows) {
        rows.push_back({quota.id, text_or_dash(record.name), text_or_dash(record.plan),
                        text_or_dash(quota.table), rate_text(quota.granted, quota.exact),
                        quota.refused ? rate_text(*quota.refused, true) : "-", ban_text(quota)});
    }
    return heading(view) + align_columns(rows);
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

/// Reads the names and plans of the quotas on the screen.
std::vector<TopRow> with_records(RedisSession& session, const redis::Keys& keys,
                                 std::vector<ActiveQuota> active) {
    SessionDatabase database(session, keys);
    management::KeyReader reader(database, keys);
    std::vector<std::string> ids;
    std::ranges::transform(active, std::back_inserter(ids), &ActiveQuota::id);
    const auto found = complete(reader.keys_of(std::move(ids)));
    std::vector<TopRow> rows;
    for (std::size_t i = 0; i < active.size(); ++i) {
        const auto& stored = found[i].keys;
        rows.push_back({.quota = std::move(active[i]),
                        .record = stored.empty() ? KeyRecord{} : stored.front().record});
    }
    return rows;
}

}  // namespace

void run_top(RedisSession& session, const redis::Keys& keys, Format format,
             const TopOptions& options) {
    const auto interval = parse_interval(options.interval);
    QuotaWatch watch(session, keys, options.budget);
    Screen screen(format == Format::kText);
    watch.poll();
    for (std::uint64_t printed = 0; options.count == 0 || printed < options.count; ++printed) {
        if (!screen.wait(interval)) {
            return;
        }
        watch.poll();
        auto active = watch.active();
        TopView view{.now = watch.now(),
                     .ids = watch.ids(),
                     .complete = watch.is_complete(),
                     .progress = watch.progress(),
                     .active = active.size(),
                     .rows = {}};
        const auto limit = std::min(options.limit, screen.lines_left(kTopHeadLines));
        view.rows =
            with_records(session, keys, busiest(std::move(active), view.now, options.sort, limit));
        screen.show(render_top(format, view));
    }
}

}  // namespace tollgate::cli
