#include "module/management/counted_ids.hpp"

#include <algorithm>
#include <utility>

#include "module/key/key_record.hpp"
#include "module/redis/topology/slot_tag.hpp"
#include "module/text/whole_number.hpp"

namespace tollgate::management {

namespace {

using List = CountedIds::Progress::List;

constexpr std::string_view kRevokedCursor = "revoked:";
constexpr std::string_view kSubjectsCursor = "subjects:";
/// How many slots are asked for subjects at once.
constexpr std::size_t kSlotsAtOnce = 64;

std::string text_of_place(const std::optional<Place>& place) {
    return place ? place->cursor() : std::string();
}

/// Takes the text up to the next comma. Throws OperationError if it is neither empty nor a place.
std::optional<Place> take_place(std::string_view& cursor) {
    const auto text = cursor.substr(0, cursor.find(','));
    cursor.remove_prefix(std::min(text.size() + 1, cursor.size()));
    auto place = Place::of_cursor(text);
    if (!place && !text.empty()) {
        refuse_cursor();
    }
    return place;
}

}  // namespace

std::string CountedIds::Progress::cursor() const {
    auto listed = text_of_place(ids);
    if (list == List::kIds) {
        return listed;
    }
    const auto both = listed + "," + text_of_place(revoked);
    if (list == List::kRevoked) {
        return std::string(kRevokedCursor) + both;
    }
    return std::string(kSubjectsCursor) + both + "," + std::to_string(slot) + ":" + subject;
}

CountedIds::Progress CountedIds::Progress::of_cursor(std::string_view cursor) {
    Progress progress;
    if (cursor.starts_with(kRevokedCursor)) {
        progress.list = List::kRevoked;
        cursor.remove_prefix(kRevokedCursor.size());
    } else if (cursor.starts_with(kSubjectsCursor)) {
        progress.list = List::kSubjects;
        cursor.remove_prefix(kSubjectsCursor.size());
    }
    if (progress.list == List::kIds) {
        progress.ids = Place::of_cursor(cursor);
        if (!progress.ids) {
            refuse_cursor();
        }
        return progress;
    }
    const auto parts = std::ranges::count(cursor, ',') + 1;
    if (parts != (progress.list == List::kRevoked ? 2 : 3)) {
        refuse_cursor();
    }
    progress.ids = take_place(cursor);
    progress.revoked = take_place(cursor);
    if (progress.list == List::kSubjects) {
        const auto colon = std::min(cursor.find(':'), cursor.size());
        const auto slot = parse_whole_number(cursor.substr(0, colon), 0, redis::kSlots - 1);
        const auto subject = cursor.substr(std::min(colon + 1, cursor.size()));
        if (!slot || (!subject.empty() && !is_valid_key_id(subject))) {
            refuse_cursor();
        }
        progress.slot = static_cast<redis::Slot>(*slot);
        progress.subject = subject;
    }
    return progress;
}

CountedIds::CountedIds(Database& database, const redis::Keys& keys, Revoked revoked,
                       Subjects subjects)
    : database_(database),
      keys_(keys),
      has_revoked_(revoked == Revoked::kIncluded),
      is_apart_(!database.may_span(keys.subjects("0"), keys.subjects("1"))),
      has_subjects_(subjects == Subjects::kIncluded || !is_apart_) {}

Task<CountedIds::Ids> CountedIds::after(Progress progress, std::size_t count) {
    if (progress.list == List::kSubjects) {
        co_return co_await subjects_after(std::move(progress), count);
    }
    co_return co_await listed_after(std::move(progress), count);
}

/// The next ids of the list that exist, or of those that were revoked.
Task<CountedIds::Ids> CountedIds::listed_after(Progress progress, std::size_t count) {
    const bool is_of_ids = progress.list == List::kIds;
    IdList list(database_, is_of_ids ? keys_.ids() : keys_.revoked());
    auto last = is_of_ids ? progress.ids : progress.revoked;
    Ids found;
    bool has_more = false;
    auto places = co_await list.page(std::move(last), count, has_more);
    found.examined = places.size();
    for (auto& place : places) {
        found.ids.push_back(place.id);
        (is_of_ids ? progress.ids : progress.revoked) = std::move(place);
        found.after.push_back(progress);
    }
    if (!has_more) {
        progress.list = is_of_ids && has_revoked_ ? List::kRevoked : List::kSubjects;
        found.has_more = progress.list == List::kRevoked || has_subjects_;
    }
    found.end = std::move(progress);
    if (!is_of_ids) {
        // An id that was issued again.
        co_await drop_found(found, keys_.ids(), found.end.ids);
    }
    co_return found;
}

Task<CountedIds::Ids> CountedIds::subjects_after(Progress progress, std::size_t count) {
    Ids found;
    if (!has_subjects_) {
        found.has_more = false;
        co_return found;
    }
    const std::size_t all = is_apart_ ? redis::kSlots : 1;
    const std::size_t lists = std::min<std::size_t>(kSlotsAtOnce, all - progress.slot % all);
    std::vector<redis::Command> commands;
    commands.reserve(lists);
    for (std::size_t i = 0; i < lists; ++i) {
        const auto slot = static_cast<redis::Slot>(progress.slot + i);
        const bool begins = i > 0 || progress.subject.empty();
        commands.push_back(
            {"ZRANGEBYLEX", keys_.subjects(is_apart_ ? redis::slot_tag(slot) : std::string()),
             begins ? "-" : "(" + progress.subject, "+", "LIMIT", "0", std::to_string(count + 1)});
    }
    const auto replies = co_await run_all(database_, std::move(commands));
    bool is_full = false;
    for (std::size_t i = 0; i < lists && !is_full; ++i) {
        for (auto& id : replies[i].texts()) {
            is_full = found.ids.size() == count;
            if (is_full) {
                break;
            }
            progress.subject = id;
            found.ids.push_back(std::move(id));
            found.after.push_back(progress);
        }
        found.examined += is_apart_ ? 1 : 0;
        if (!is_full && progress.slot + 1U < all) {
            ++progress.slot;
            progress.subject.clear();
        } else if (!is_full) {
            found.has_more = false;
        }
    }
    found.examined += found.ids.size();
    found.end = std::move(progress);
    co_await drop_found(found, keys_.ids(), found.end.ids);
    if (has_revoked_) {
        co_await drop_found(found, keys_.revoked(), found.end.revoked);
    }
    co_return found;
}

/// Drops the ids that were found in another list, whose last place was `last`.
Task<void> CountedIds::drop_found(Ids& ids, std::string list, std::optional<Place> last) {
    IdList other(database_, std::move(list));
    const auto places = co_await other.places_of(ids.ids);
    std::size_t kept = 0;
    for (std::size_t i = 0; i < places.size(); ++i) {
        const bool was_found = places[i] && last && *places[i] <= *last;
        if (!was_found) {
            std::swap(ids.ids[kept], ids.ids[i]);
            std::swap(ids.after[kept], ids.after[i]);
            ++kept;
        }
    }
    ids.ids.resize(kept);
    ids.after.resize(kept);
}

}  // namespace tollgate::management
