#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "module/management/admin/admin_request.hpp"
#include "module/management/database.hpp"
#include "module/management/key_changes.hpp"

namespace tollgate::management {

/// What a caller may do, as its key says at the moment when an operation begins. handle() gives
/// it to the operation. What it forbids is an OperationError with Reason::kNotPermitted.
struct HeldRights {
    std::string id;      ///< of the caller
    std::string scopes;  ///< of its key, in the form of parse_scopes()

    /// A caller gives only scopes that it has: to an id, or with the new key of an id. Throws
    /// unless it has all of these, which are in the form of parse_scopes().
    void require_may_give(std::string_view given) const;

    /// Throws unless the caller may make these changes of an id: it gives scopes, see above, and it
    /// does not change what limits itself: the fields of its own id with RecordField::limits_key.
    void require_may_change(std::string_view changed_id, const KeyChanges& changes) const;
};

/// Finds out what the caller of a request may do now. A request asks when it leaves the queue, and
/// a batch before each of its operations: a key that was revoked, disabled or limited in the
/// meantime starts nothing more.
class CallerRights {
  public:
    /// The rights, or the response to a request of a caller who has none (AdminResponse::is_refusal
    /// is true).
    using Answer = std::variant<HeldRights, AdminResponse>;
    using Done = std::function<void(Answer)>;

    CallerRights() = default;
    CallerRights(const CallerRights&) = delete;
    CallerRights& operator=(const CallerRights&) = delete;
    virtual ~CallerRights() = default;

    /// Calls `done` once, before this returns or later. One check at a time.
    virtual void check(Done done) = 0;
};

/// Awaits the answer of a check.
inline auto check(CallerRights& rights) {
    return await<CallerRights::Answer>([&rights](auto done) {
        rights.check([done = std::move(done)](CallerRights::Answer answer) {
            done(Database::OutcomeOf<CallerRights::Answer>(std::move(answer)));
        });
    });
}

}  // namespace tollgate::management
