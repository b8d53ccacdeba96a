#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "module/management/database.hpp"
#include "module/management/key_filter.hpp"
#include "module/management/stored_key.hpp"

namespace tollgate::management {

/// Which keys to find.
struct KeyQuery {
    KeyFilter filter{};                  ///< validated
    std::optional<std::string> after{};  ///< FoundKeys::next of the page before
    std::size_t limit = 100;
    std::chrono::sys_seconds now;  ///< for the states of keys
};

/// Some ids that match a filter, and their keys without pending ones.
struct FoundKeys {
    std::vector<KeysOfId> ids;
    std::optional<std::string> next{};  ///< empty: no ids follow
};

/// Finds the next ids that match a filter, with a name in the order of their names, otherwise in
/// that of their creation. If the filter has an indexed field, the index leads to the keys:
/// without a name only if it is complete (KeyIndex::is_complete). Otherwise all ids are examined.
/// See PageBounds for how far. Throws OperationError, with Reason::kInvalid if `after` is not the
/// place of a page of this kind.
Task<FoundKeys> find_keys(Database& database, const redis::Keys& keys, KeyQuery query);

}  // namespace tollgate::management
