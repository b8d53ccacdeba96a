#include "module/management/all_usage.hpp"

#include <algorithm>
#include <functional>
#include <iterator>
#include <map>
#include <utility>

#include "module/management/history_reader.hpp"
#include "module/management/key_reader.hpp"

namespace tollgate::management {

namespace {

/// A page with so many days ends: ids may have thousands of days.
constexpr std::size_t kMostDays = 5000;

using Records = std::map<std::string, KeyRecord>;

/// The records of the ids that have days, if periods are read. That of a revoked id has what its
/// last key had: an id that was issued again may have been revoked several times.
Task<Records> records_of(Database& database, const redis::Keys& keys, const AllUsageQuery& query,
                         const std::vector<std::string>& ids,
                         const std::vector<UsageHistory>& histories) {
    std::vector<std::string> with_days;
    for (std::size_t i = 0; query.by && i < ids.size(); ++i) {
        if (!histories[i].empty()) {
            with_days.push_back(ids[i]);
        }
    }
    Records records;
    if (with_days.empty()) {
        co_return records;
    }
    KeyReader reader(database, keys);
    auto read = co_await reader.keys_of(std::move(with_days));
    std::vector<redis::Command> ended;
    for (auto& of_id : read) {
        if (!of_id.keys.empty()) {
            records.emplace(of_id.id, std::move(of_id.keys.front().record));
        } else {
            ended.push_back({"SMEMBERS", keys.ended(of_id.id)});
        }
    }
    if (ended.empty()) {
        co_return records;
    }
    const auto sets = co_await run_all(database, std::move(ended));
    std::vector<std::string> digests;
    for (const auto& of_id : sets) {
        std::ranges::move(of_id.texts(), std::back_inserter(digests));
    }
    auto revoked = co_await reader.read_anything(std::move(digests));
    std::ranges::stable_sort(revoked, std::greater<>(), &StoredKey::created);
    for (auto& key : revoked) {
        if (!key.record.plan.empty()) {
            records.emplace(key.revoked_of, std::move(key.record));
        }
    }
    co_return records;
}

/// The days or the periods of an id that the query asks for.
UsagePage::OfId usage_of(std::string id, UsageHistory history, const AllUsageQuery& query,
                         const Records& records, const CountingTables& tables) {
    UsagePage::OfId usage{.id = std::move(id), .days = {}, .periods = {}};
    if (query.by) {
        const auto record = records.find(usage.id);
        usage.periods = billed_periods(history, *query.by, query.days,
                                       record == records.end() ? nullptr : &record->second, tables);
        return usage;
    }
    std::erase_if(history, [&](const DayUsage& day) { return !query.days.contains(day.day); });
    usage.days = std::move(history);
    return usage;
}

}  // namespace

Task<UsagePage> read_all_usage(Database& database, const redis::Keys& keys, AllUsageQuery query,
                               CountingTables tables) {
    constexpr std::size_t kIdsPerRead = 250;
    constexpr std::size_t kFewestHistories = 16;
    constexpr std::size_t kMostHistories = 50;
    HistoryReader histories(database, keys, tables);
    CountedIds counted(database, keys, CountedIds::Revoked::kIncluded, query.subjects);
    auto progress =
        query.after ? CountedIds::Progress::of_cursor(*query.after) : CountedIds::Progress{};
    PageBounds bounds(database, query.limit);
    UsagePage page;
    std::size_t days = 0;
    bool has_more = true;
    const auto is_end = [&] { return days >= kMostDays || bounds.is_end(page.ids.size()); };
    const auto is_end_or_late = [&] {
        return days >= kMostDays || bounds.is_end_or_late(page.ids.size());
    };
    while (has_more && !is_end_or_late()) {
        auto next = co_await counted.after(std::move(progress), kIdsPerRead);
        std::size_t examined = 0;
        while (examined < next.ids.size() && (examined == 0 || !is_end_or_late())) {
            const auto count = std::min(
                std::clamp(query.limit - page.ids.size(), kFewestHistories, kMostHistories),
                next.ids.size() - examined);
            const auto first = next.ids.begin() + static_cast<std::ptrdiff_t>(examined);
            const std::vector<std::string> ids(first, first + static_cast<std::ptrdiff_t>(count));
            auto read = co_await histories.read(ids);
            const auto records = co_await records_of(database, keys, query, ids, read);
            for (auto history = read.begin(); history != read.end() && !is_end(); ++history) {
                auto usage = usage_of(std::move(next.ids[examined]), std::move(*history), query,
                                      records, tables);
                if (!usage.days.empty() || !usage.periods.empty()) {
                    days += usage.days.size() + usage.periods.size();
                    page.ids.push_back(std::move(usage));
                }
                ++examined;
                bounds.note_examined(1);
            }
        }
        has_more = next.has_more || examined < next.ids.size();
        progress = std::move(examined < next.ids.size() ? next.after[examined - 1] : next.end);
        bounds.note_examined(next.examined - next.ids.size());
    }
    if (has_more) {
        page.next = progress.cursor();
    }
    co_return page;
}

}  // namespace tollgate::management
