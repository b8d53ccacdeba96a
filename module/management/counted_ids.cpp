#include "module/management/counted_ids.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "module/key/key_record.hpp"
#include "module/redis/topology/slot_tag.hpp"
#include "module/text/whole_number.hpp"

namespace tollgate::management {

namespace {

constexpr std::string_view kSubjectsCursor = "subjects:";
/// How many slots are asked for subjects at once.
constexpr std::size_t kSlotsAtOnce = 64;

/// All places of two ordered lists, each once.
std::vector<ListCursor> united(std::vector<ListCursor> one, std::vector<ListCursor> other) {
    std::vector<ListCursor> all;
    all.reserve(one.size() + other.size());
    std::set_union(std::make_move_iterator(one.begin()), std::make_move_iterator(one.end()),
                   std::make_move_iterator(other.begin()), std::make_move_iterator(other.end()),
                   std::back_inserter(all));
    return all;
}

}  // namespace

std::string CountedIds::Progress::cursor() const {
    auto last = listed ? listed->cursor() : std::string();
    if (!is_at_subjects) {
        return last;
    }
    return std::string(kSubjectsCursor) + last + "," + std::to_string(slot) + ":" + subject;
}

CountedIds::Progress CountedIds::Progress::of_cursor(std::string_view cursor) {
    Progress progress;
    progress.is_at_subjects = cursor.starts_with(kSubjectsCursor);
    cursor.remove_prefix(progress.is_at_subjects ? kSubjectsCursor.size() : 0);
    const auto last = progress.is_at_subjects ? cursor.substr(0, cursor.find(',')) : cursor;
    progress.listed = ListCursor::of_cursor(last);
    if (!progress.listed && !(progress.is_at_subjects && last.empty())) {
        refuse_cursor();
    }
    if (progress.is_at_subjects) {
        cursor.remove_prefix(std::min(last.size() + 1, cursor.size()));
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

bool CountedIds::has_subjects(const Database& database, const redis::Keys& keys,
                              Subjects subjects) {
    return subjects == Subjects::kIncluded ||
           database.may_span(keys.subjects("0"), keys.subjects("1"));
}

CountedIds::CountedIds(Database& database, const redis::Keys& keys, Revoked revoked,
                       Subjects subjects)
    : database_(database),
      keys_(keys),
      has_revoked_(revoked == Revoked::kIncluded),
      is_apart_(!database.may_span(keys.subjects("0"), keys.subjects("1"))),
      has_subjects_(has_subjects(database, keys, subjects)) {}

Task<CountedIds::Ids> CountedIds::after(Progress progress, std::size_t count) {
    if (progress.is_at_subjects) {
        co_return co_await subjects_after(std::move(progress), count);
    }
    co_return co_await listed_after(std::move(progress), count);
}

/// The next ids that exist or were revoked.
Task<CountedIds::Ids> CountedIds::listed_after(Progress progress, std::size_t count) {
    IdList existing(database_, keys_.ids());
    auto places = co_await existing.after(progress.listed, count + 1);
    if (has_revoked_) {
        // After the other list: an id that is revoked is in this one before it leaves that one.
        IdList revoked(database_, keys_.revoked());
        auto others = co_await revoked.after(progress.listed, count + 1);
        places = united(std::move(places), std::move(others));
    }
    Ids found;
    const bool has_more = places.size() > count;
    places.resize(std::min(places.size(), count));
    found.examined = places.size();
    for (auto& place : places) {
        found.ids.push_back(place.id);
        progress.listed = std::move(place);
        found.after.push_back(progress);
    }
    progress.is_at_subjects = !has_more;
    found.has_more = has_more || has_subjects_;
    found.end = std::move(progress);
    if (has_revoked_) {
        const IsElsewhere was_issued_again = [](const ListCursor& in_list, const auto& listed) {
            return in_list != listed;
        };
        co_await drop(found, keys_.revoked(), was_issued_again);
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
    const IsElsewhere was_found = [](const ListCursor& in_list, const auto& listed) {
        return listed && in_list <= *listed;
    };
    co_await drop(found, keys_.ids(), was_found);
    if (has_revoked_) {
        co_await drop(found, keys_.revoked(), was_found);
    }
    co_return found;
}

/// Drops the ids that are found at their place in this list. `listed` is that of their progress.
Task<void> CountedIds::drop(Ids& ids, std::string list, IsElsewhere is_elsewhere) {
    IdList other(database_, std::move(list));
    const auto places = co_await other.places_of(ids.ids);
    std::size_t kept = 0;
    for (std::size_t i = 0; i < places.size(); ++i) {
        if (!places[i] || !is_elsewhere(*places[i], ids.after[i].listed)) {
            std::swap(ids.ids[kept], ids.ids[i]);
            std::swap(ids.after[kept], ids.after[i]);
            ++kept;
        }
    }
    ids.ids.resize(kept);
    ids.after.resize(kept);
}

}  // namespace tollgate::management
