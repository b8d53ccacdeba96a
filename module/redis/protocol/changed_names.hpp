#pragma once

#include <hiredis/hiredis.h>

#include <chrono>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "module/redis/protocol/script.hpp"

namespace tollgate::redis {

/// Reads which records changed lately: see Keys::changes. Its argument is how far to look back, in
/// ms.
const Script& changes_script();

/// An id, or a digest in hexadecimal.
struct ChangedName {
    std::string_view name;
    /// How long ago it changed, by the clock of Redis in whole ms: up to one ms more or less. Not
    /// negative.
    std::chrono::milliseconds age;
};

/// The names that changes_script() returned after the token. They live as long as `values`. Nothing
/// if Redis cannot tell: there is no such set, or more than 400 names have changed, or these are
/// not values of changes_script().
std::optional<std::vector<ChangedName>> read_changed_names(
    std::span<const redisReply* const> values);

}  // namespace tollgate::redis
