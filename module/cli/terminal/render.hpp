#pragma once

#include <string>

#include "module/cli/usage/key_ban.hpp"
#include "module/cli/usage/key_usage.hpp"

namespace tollgate::cli {

/// How results are shown: tables to read, or one JSON document.
enum class Format { kText, kJson };

/// What an id has used, and of which limits.
std::string render_usage(Format format, const KeyUsage& usage);

/// The strikes and the ban of an id.
std::string render_ban(Format format, const KeyBan& ban);

}  // namespace tollgate::cli
