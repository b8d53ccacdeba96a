#include "module/management/all_usage.hpp"

#include <algorithm>
#include <utility>

#include "module/management/history_reader.hpp"

namespace tollgate::management {

namespace {

/// A page with so many days ends: ids may have thousands of days.
constexpr std::size_t kMostDays = 5000;

}  // namespace

Task<UsagePage> read_all_usage(Database& database, const redis::Keys& keys, AllUsageQuery query,
                               CountingTables tables) {
    constexpr std::size_t kFewest = 16;
    constexpr std::size_t kMost = 100;
    HistoryReader histories(database, keys, tables);
    CountedIds counted(database, keys, CountedIds::Revoked::kIncluded, query.subjects);
    auto progress =
        query.after ? CountedIds::Progress::of_cursor(*query.after) : CountedIds::Progress{};
    PageBounds bounds{.limit = query.limit};
    UsagePage page;
    std::size_t days = 0;
    bool has_more = true;
    const auto is_end = [&] { return days >= kMostDays || bounds.is_end(page.ids.size()); };
    while (has_more && !is_end()) {
        const auto count = std::clamp(query.limit - page.ids.size(), kFewest, kMost);
        auto next = co_await counted.after(std::move(progress), count);
        auto read = co_await histories.read(next.ids);
        bounds.examined += next.examined;
        progress = std::move(next.end);
        has_more = next.has_more;
        for (std::size_t i = 0; i < read.size(); ++i) {
            std::erase_if(read[i],
                          [&](const DayUsage& day) { return !query.days.contains(day.day); });
            if (read[i].empty()) {
                continue;
            }
            days += read[i].size();
            page.ids.push_back({std::move(next.ids[i]), std::move(read[i])});
            if (is_end() && i + 1 < read.size()) {
                progress = std::move(next.after[i]);
                has_more = true;
                break;
            }
        }
    }
    if (has_more) {
        page.next = progress.cursor();
    }
    co_return page;
}

}  // namespace tollgate::management
