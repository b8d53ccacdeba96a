#pragma once

#include <functional>
#include <optional>
#include <string>

#include "module/management/stored_key.hpp"

namespace tollgate::management {

/// The version of an id is that of its current key: 32 hexadecimal digits of the SHA-256 of what
/// Redis stores of the key. Each change of an id changes its current key, or gives it another one,
/// so the version is in one hash, and a transaction can depend on it. It does not depend on last
/// uses, on the end of retiring keys, and on whether the key was shown.
std::string version_of(const StoredKey& key);

/// The version of an id with these keys, the current one first. Empty if there is none.
std::optional<std::string> version_of(const KeysOfId& keys);

/// Decides by its version whether an operation may change an id. The version is empty if the id has
/// no key.
using AcceptsVersion = std::function<bool(const std::optional<std::string>& version)>;

}  // namespace tollgate::management
