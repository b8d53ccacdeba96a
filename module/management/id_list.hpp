#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "module/management/database.hpp"

namespace tollgate::management {

/// The place of an id in a list of ids, which is ordered by time, then by id.
struct ListCursor {
    double created = 0;  ///< Unix time
    std::string id;

    auto operator<=>(const ListCursor&) const = default;  // NOLINT(modernize-use-nullptr)

    /// The time as a score of Redis.
    std::string score() const;
    /// The place as a client repeats it: `CREATED:ID`.
    std::string cursor() const;
    /// Nothing if the text is not a cursor.
    static std::optional<ListCursor> of_cursor(std::string_view cursor);
};

/// The ids in a sorted set: see redis::Keys::ids() and redis::Keys::revoked().
class IdList {
  public:
    /// `database` must outlive the object, which must outlive its tasks. `key` is the name of the
    /// sorted set.
    IdList(Database& database, std::string key) : database_(database), key_(std::move(key)) {}

    /// The next places after this one, at least `count` if there are so many. An id that stays in
    /// the list is found once, even if other ids are added or removed at the same time. Throws
    /// OperationError.
    Task<std::vector<ListCursor>> after(std::optional<ListCursor> place, std::size_t count);

    /// The next places after this one, at most `count`. Sets `has_more`, which must outlive the
    /// task, to whether others follow. An id that stays in the list is found once, even if other
    /// ids are added or removed at the same time. Throws OperationError.
    Task<std::vector<ListCursor>> page(std::optional<ListCursor> place, std::size_t count,
                                       bool& has_more);

    /// The places of these ids, in their order; nothing for those that are not in the list.
    Task<std::vector<std::optional<ListCursor>>> places_of(std::vector<std::string> ids);

  private:
    Task<std::vector<ListCursor>> after_rank(ListCursor place, std::size_t count);
    redis::Command places_at(std::size_t rank, std::size_t count) const;
    Task<std::vector<ListCursor>> places(std::size_t rank, std::size_t count);
    Task<std::size_t> rank_after(ListCursor place);

    Database& database_;
    std::string key_;
};

/// How far a list goes that shows some of many ids. A page ends when it is full, when all ids were
/// examined, or when it has an entry and many ids were examined. If that takes long, it ends as it
/// is: only then is a page empty although there is a next one.
class PageBounds {
  public:
    /// A page of `limit` entries. `database` must outlive it.
    PageBounds(const Database& database, std::size_t limit)
        : database_(database), limit_(limit), begin_(database.elapsed()) {}

    /// How many ids a list examines for a page that has an entry.
    static constexpr std::size_t kMostExamined = 1000;
    /// After this time, a client gets what there is: others may close the connection soon.
    static constexpr std::chrono::seconds kLongest{10};

    void note_examined(std::size_t ids) { examined_ += ids; }
    /// Whether a page with this number of entries ends, although ids follow.
    bool is_end(std::size_t entries) const {
        return entries >= limit_ || (entries > 0 && examined_ >= kMostExamined);
    }
    /// Whether a page with this number of entries ends, although ids follow, or it has taken
    /// kLongest.
    bool is_end_or_late(std::size_t entries) const {
        return is_end(entries) || database_.elapsed() - begin_ >= kLongest;
    }

  private:
    const Database& database_;
    const std::size_t limit_;
    const std::chrono::milliseconds begin_;
    std::size_t examined_ = 0;
};

}  // namespace tollgate::management
