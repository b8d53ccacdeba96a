#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "module/management/database.hpp"
#include "module/management/id_list.hpp"
#include "module/redis/topology/key_slot.hpp"

namespace tollgate::management {

/// The ids that have counts in Redis: those that exist or were revoked, by the time of their first
/// creation; then subjects, which have no key, by their names, in a cluster by their slots. An id
/// that has counts all the time while they are read is found once, also if it is issued a key, or
/// revoked, at that time.
class CountedIds {
  public:
    /// Bans do not survive a revocation.
    enum class Revoked : bool { kOmitted, kIncluded };
    /// A cluster has 16,384 lists of subjects: to read them takes too long for a request.
    enum class Subjects : bool { kOmittedInCluster, kIncluded };

    /// How far the lists were read.
    struct Progress {
        std::optional<ListCursor> listed{};  ///< the last one that is no subject; empty: none
        bool is_at_subjects = false;         ///< all others were found
        redis::Slot slot = 0;                ///< of the subjects
        std::string subject{};               ///< the last one of this slot; empty: none

        /// The text as a client repeats it: `CREATED:ID` or `subjects:[CREATED:ID],SLOT:[ID]`.
        std::string cursor() const;
        /// Throws OperationError with Reason::kInvalid if the text is not a cursor.
        static Progress of_cursor(std::string_view cursor);
    };
    /// Some consecutive ids.
    struct Ids {
        std::vector<std::string> ids;
        std::vector<Progress> after;  ///< each of them
        Progress end{};               ///< after all of them
        bool has_more = true;         ///< after `end`
        std::size_t examined = 0;     ///< ids, also those that were left out, and slots
    };

    /// `database` and `keys` must outlive the object, which must outlive its tasks.
    CountedIds(Database& database, const redis::Keys& keys, Revoked revoked, Subjects subjects);

    /// Whether subjects are among the ids of a deployment.
    static bool has_subjects(const Database& database, const redis::Keys& keys, Subjects subjects);

    /// The next ids, at most `count`, which may be none. Throws OperationError.
    Task<Ids> after(Progress progress, std::size_t count);

  private:
    Task<Ids> listed_after(Progress progress, std::size_t count);
    Task<Ids> subjects_after(Progress progress, std::size_t count);
    using IsElsewhere = bool (*)(const ListCursor& in_list,
                                 const std::optional<ListCursor>& listed);
    Task<void> drop(Ids& ids, std::string list, IsElsewhere is_elsewhere);

    Database& database_;
    const redis::Keys& keys_;
    bool has_revoked_;
    bool is_apart_;  ///< each slot has its own list of subjects
    bool has_subjects_;
};

}  // namespace tollgate::management
