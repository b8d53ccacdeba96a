#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "module/cli/terminal/output.hpp"
#include "module/cli/terminal/text_layout.hpp"
#include "module/management/balance.hpp"
#include "module/management/ban.hpp"
#include "module/management/group_usage.hpp"
#include "module/management/groups.hpp"
#include "module/management/key_usage.hpp"
#include "module/management/stored_key.hpp"
#include "module/management/usage_history.hpp"

namespace tollgate::cli {

// All functions return what the command prints, with the last line end.

/// The quota usage of an id.
std::string render_usage(Format format, const management::KeyUsage& usage);

/// What an id was granted in each day.
std::string render_history(Format format, const std::string& id,
                           const management::UsageHistory& history);

/// The strikes and the ban of an id.
std::string render_ban(Format format, const management::KeyBan& ban);

/// A balance of this id or group after a credit.
std::string render_credited(Format format, const std::string& owner,
                            const management::Credited& credited);

/// Ids that are banned.
std::string render_bans(Format format, const std::vector<management::KeyBan>& bans);

/// The usage of a group.
std::string render_group_usage(Format format, const management::GroupUsage& usage);

/// A group.
std::string render_group(Format format, const management::GroupRecord& group);

/// Groups.
std::string render_groups(Format format, const std::vector<management::GroupRecord>& groups);

/// A new key. The text format is the key alone. JSON also contains the keys of the id.
std::string render_issued(Format format, const management::KeysOfId& keys,
                          std::chrono::sys_seconds now, const std::string& key);

/// The keys of one id. `found`: the digest by which the id was found.
std::string render_key(Format format, const management::KeysOfId& keys,
                       std::chrono::sys_seconds now, const std::string& found = {});

/// Renders a list of ids and their keys in parts: a line or a JSON object for each id.
class KeyListText {
  public:
    /// `width` is that of a line, if there is a limit: less important columns are shortened.
    KeyListText(Format format, std::chrono::sys_seconds now, std::optional<std::size_t> width);

    /// The text of the next ids.
    std::string next(const std::vector<management::KeysOfId>& ids);
    /// The text after the last id.
    std::string end();

  private:
    Format format_;
    std::chrono::sys_seconds now_;
    ColumnLayout columns_;
    bool begun_ = false;
};

}  // namespace tollgate::cli
