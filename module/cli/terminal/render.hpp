#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "module/cli/keys/stored_key.hpp"
#include "module/cli/terminal/output.hpp"
#include "module/cli/terminal/text_layout.hpp"
#include "module/cli/usage/key_usage.hpp"
#include "module/cli/usage/stored_usage.hpp"

namespace tollgate::cli {

/// What an id has used, and of which limits.
std::string render_usage(Format format, const KeyUsage& usage);

/// The strikes and the ban of an id.
std::string render_ban(Format format, const KeyBan& ban);

/// A key that was just made, with its text, which is shown here and nowhere else. As text: the key
/// alone.
std::string render_issued(Format format, const KeysOfId& keys, std::chrono::sys_seconds now,
                          const std::string& key);

/// All that is known of one id.
std::string render_key(Format format, const KeysOfId& keys, std::chrono::sys_seconds now);

/// That an id and its keys are gone.
std::string render_revoked(Format format, const std::string& id);

/// The state of the current key of an id: `active`, `disabled`, `expired`; `replaced` where a
/// rotation has ended it and was interrupted; `none` without a key.
std::string key_state(const KeysOfId& keys, std::chrono::sys_seconds now);

/// Ids and their keys, a line or a JSON object for each, in parts.
class KeyListText {
  public:
    KeyListText(Format format, std::chrono::sys_seconds now) : format_(format), now_(now) {}

    /// The text of the next ids.
    std::string next(const std::vector<KeysOfId>& ids);
    /// The text after the last id.
    std::string end();

  private:
    Format format_;
    std::chrono::sys_seconds now_;
    ColumnLayout columns_;
    bool begun_ = false;
};

}  // namespace tollgate::cli
