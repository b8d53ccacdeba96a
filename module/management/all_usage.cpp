#include "module/management/all_usage.hpp"

#include <algorithm>
#include <iterator>
#include <string_view>
#include <utility>

#include "module/management/history_reader.hpp"
#include "module/management/id_list.hpp"

namespace tollgate::management {

namespace {

/// A page with so many days ends: ids may have thousands of days.
constexpr std::size_t kMostDays = 5000;

/// The place up to which the usage of all ids was read.
struct UsagePlace {
    bool is_revoked = false;
    std::optional<Place> last{};  ///< empty: the begin of the list

    static constexpr std::string_view kRevoked = "revoked:";

    std::string cursor() const {
        return std::string(is_revoked ? kRevoked : "") + (last ? last->cursor() : "");
    }
    static UsagePlace of_cursor(std::string_view cursor) {
        UsagePlace place{.is_revoked = cursor.starts_with(kRevoked)};
        cursor.remove_prefix(place.is_revoked ? kRevoked.size() : 0);
        place.last = Place::of_cursor(cursor);
        if (!place.last && !(place.is_revoked && cursor.empty())) {
            refuse("after: use the value of \"next\"");
        }
        return place;
    }
};

/// Some consecutive ids of one of the lists.
struct UsageIds {
    bool is_revoked = false;
    std::vector<Place> places;
    UsagePlace end{};  ///< after them
    bool has_more = true;
};

/// The next ids after a place. Of revoked ids, those that were issued again are left out: the other
/// list has them.
Task<UsageIds> ids_after(Database& database, const redis::Keys& keys, UsagePlace place,
                         std::size_t count) {
    IdList list(database, place.is_revoked ? keys.revoked() : keys.ids());
    UsageIds ids{.is_revoked = place.is_revoked, .places = {}};
    ids.places = co_await list.page(place.last, count, ids.has_more);
    if (!ids.places.empty()) {
        place.last = ids.places.back();
    }
    if (!place.is_revoked && !ids.has_more) {
        ids.end = {.is_revoked = true};
        ids.has_more = true;
        co_return ids;
    }
    ids.end = place;
    if (place.is_revoked) {
        std::vector<redis::Command> commands;
        for (const auto& revoked : ids.places) {
            commands.push_back({"ZSCORE", keys.ids(), revoked.id});
        }
        const auto scores = co_await run_all(database, std::move(commands));
        std::size_t next = 0;
        std::erase_if(ids.places, [&](const Place&) { return !scores[next++].is_nil(); });
    }
    co_return ids;
}

}  // namespace

Task<UsagePage> read_all_usage(Database& database, const redis::Keys& keys, AllUsageQuery query,
                               CountingTables tables) {
    constexpr std::size_t kFewest = 16;
    constexpr std::size_t kMost = 50;
    HistoryReader histories(database, keys, tables);
    UsagePlace place = query.after ? UsagePlace::of_cursor(*query.after) : UsagePlace{};
    PageBounds bounds{.limit = query.limit};
    UsagePage page;
    std::size_t days = 0;
    bool has_more = true;
    const auto is_end = [&] { return days >= kMostDays || bounds.is_end(page.ids.size()); };
    while (has_more && !is_end()) {
        const auto count = std::clamp(query.limit - page.ids.size(), kFewest, kMost);
        const auto next = co_await ids_after(database, keys, place, count);
        std::vector<std::string> ids;
        std::ranges::transform(next.places, std::back_inserter(ids), &Place::id);
        auto read = co_await histories.read(std::move(ids));
        bounds.examined += count;
        place = next.end;
        has_more = next.has_more;
        for (std::size_t i = 0; i < read.size(); ++i) {
            std::erase_if(read[i],
                          [&](const DayUsage& day) { return !query.days.contains(day.day); });
            if (read[i].empty()) {
                continue;
            }
            days += read[i].size();
            page.ids.push_back({next.places[i].id, std::move(read[i])});
            if (is_end() && i + 1 < read.size()) {
                place = {.is_revoked = next.is_revoked, .last = next.places[i]};
                has_more = true;
                break;
            }
        }
    }
    if (has_more) {
        page.next = place.cursor();
    }
    co_return page;
}

}  // namespace tollgate::management
