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
            std::vector<std::string> ids(first, first + static_cast<std::ptrdiff_t>(count));
            auto read = co_await histories.read(std::move(ids));
            for (auto history = read.begin(); history != read.end() && !is_end(); ++history) {
                std::erase_if(*history,
                              [&](const DayUsage& day) { return !query.days.contains(day.day); });
                if (!history->empty()) {
                    days += history->size();
                    page.ids.push_back({std::move(next.ids[examined]), std::move(*history)});
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
