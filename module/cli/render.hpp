#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "module/cli/key_ban.hpp"
#include "module/cli/key_usage.hpp"
#include "module/cli/stored_key.hpp"

namespace tollgate::cli {

/// How results are shown: tables to read, or one JSON document.
enum class Format { kText, kJson };

/// A key that was just made, with its text, which is shown here and nowhere else. As text: the key
/// alone.
std::string render_issued(Format format, const KeysOfId& keys, std::chrono::sys_seconds now,
                          const std::string& key);

/// All that is known of one id.
std::string render_key(Format format, const KeysOfId& keys, std::chrono::sys_seconds now);

/// A line an id.
std::string render_list(Format format, const std::vector<KeysOfId>& list,
                        std::chrono::sys_seconds now);

/// That an id and its keys are gone.
std::string render_revoked(Format format, const std::string& id);

/// What an id has used, and of which limits.
std::string render_usage(Format format, const KeyUsage& usage);

/// The strikes and the ban of an id.
std::string render_ban(Format format, const KeyBan& ban);

}  // namespace tollgate::cli
