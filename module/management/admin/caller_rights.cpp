#include "module/management/admin/caller_rights.hpp"

#include "module/key/scopes.hpp"
#include "module/management/operation_error.hpp"
#include "module/redis/protocol/record_fields.hpp"
#include "module/redis/protocol/schema.hpp"

namespace tollgate::management {

void HeldRights::require_may_give(std::string_view given) const {
    if (!contains_scopes(scopes, given)) {
        throw OperationError(Reason::kNotPermitted,
                             "scopes: the key of this request gives only scopes that it has");
    }
}

void HeldRights::require_may_change(std::string_view changed_id, const KeyChanges& changes) const {
    for (const auto& field : redis::record_fields()) {
        if (changed_id == id && field.limits_key && changes.has(field.name)) {
            throw OperationError(
                Reason::kNotPermitted,
                std::string(field.name) + ": a key does not change this value of its own id");
        }
    }
    const auto given = changes.values.find(redis::record_field::kScopes);
    if (given != changes.values.end()) {
        require_may_give(given->second);
    }
}

}  // namespace tollgate::management
