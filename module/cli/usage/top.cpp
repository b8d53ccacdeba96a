#include "module/cli/usage/top.hpp"

#include <algorithm>
#include <chrono>
#include <tuple>
#include <vector>

#include "module/cli/failure.hpp"
#include "module/cli/keys/key_lookup.hpp"
#include "module/cli/terminal/screen.hpp"
#include "module/cli/usage/quota_watch.hpp"
#include "module/cli/usage/render_top.hpp"
#include "module/text/duration.hpp"
#include "module/text/parse_error.hpp"

namespace tollgate::cli {

namespace {

using namespace std::chrono_literals;

std::chrono::milliseconds parse_interval(const std::string& text) {
    try {
        const auto interval = parse_duration(text);
        if (interval >= 100ms && interval <= 1h) {
            return interval;
        }
    } catch (const ParseError&) {  // said below
    }
    throw Failure(ExitStatus::kUsage,
                  "--interval: \"" + text + "\" is not a time from 100ms to 1h");
}

std::vector<ActiveQuota> busiest(std::vector<ActiveQuota> active, const std::string& sort,
                                 std::size_t limit) {
    const bool by_refusals = sort == "refusals";
    std::ranges::sort(active, [&](const ActiveQuota& a, const ActiveQuota& b) {
        const auto rank = [&](const ActiveQuota& quota) {
            const double refused = quota.refused.value_or(0);
            return std::pair(by_refusals ? refused : quota.granted + refused, quota.granted);
        };
        return rank(a) != rank(b) ? rank(a) > rank(b)
                                  : std::tie(a.id, a.table) < std::tie(b.id, b.table);
    });
    active.resize(std::min(active.size(), limit));
    return active;
}

/// Names and plans of those that are shown, which are few.
std::vector<TopRow> describe(RedisSession& session, const redis::Keys& keys,
                             std::vector<ActiveQuota> active) {
    std::vector<RedisCommand> sets;
    sets.reserve(active.size());
    for (const auto& quota : active) {
        sets.push_back({"SMEMBERS", keys.id(quota.id)});
    }
    KeyLookup lookup(session, keys);
    const auto replies = session.run_all(sets);
    std::vector<std::string> digests;
    for (const auto& reply : replies) {
        std::ranges::copy(reply.texts(), std::back_inserter(digests));
    }
    const auto found = lookup.read(digests);
    std::vector<TopRow> rows;
    for (auto& quota : active) {
        const auto key = std::ranges::find(
            found, quota.id, [](const StoredKey& stored) { return stored.record.id; });
        rows.push_back(
            {.quota = std::move(quota), .record = key == found.end() ? KeyRecord{} : key->record});
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
                     .whole = watch.is_whole(),
                     .progress = watch.progress(),
                     .active = active.size(),
                     .rows = {}};
        const auto limit = std::min(options.limit, screen.lines_left(kTopHeadLines));
        view.rows = describe(session, keys, busiest(std::move(active), options.sort, limit));
        screen.show(render_top(format, view));
    }
}

}  // namespace tollgate::cli
