#pragma once

#include <chrono>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "module/redis/protocol/reply.hpp"
#include "module/redis/protocol/script.hpp"

namespace tollgate::redis {

/// Reads which records changed lately: see Keys::changes. Its arguments are how far to look back,
/// in ms, and ChangedNames::next of the reply before; in the first call an empty text.
const Script& changes_script();

/// An id, or a digest in hexadecimal.
struct ChangedName {
    std::string_view name;
    /// How long ago it changed, by the clock of Redis in whole ms: up to one ms more or less. Not
    /// negative.
    std::chrono::milliseconds age;
};

/// A part of the names that changed, small enough for one reply.
struct ChangedNames {
    /// At most 400, the earliest change first.
    std::vector<ChangedName> names;
    /// The other names begin here: the last names may be repeated. Nothing: there are no others.
    std::optional<std::string_view> next;
};

/// What changes_script() returned after the token. It lives as long as `values`. Nothing if Redis
/// cannot tell: there is no such set, or these are not values of changes_script().
std::optional<ChangedNames> read_changed_names(ReplyValues values);

}  // namespace tollgate::redis
