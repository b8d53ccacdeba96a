#pragma once

#include <chrono>
#include <optional>
#include <string_view>
#include <variant>

#include "module/management/balance.hpp"
#include "module/management/declared_key.hpp"
#include "module/management/groups.hpp"
#include "module/management/stored_key.hpp"

namespace tollgate::cli {

/// Reads an id and its keys from a line of JSON: what `tollgate export keys` writes, or an object
/// with `id`, `plan` and `token` or `digest`; other members are as in an export. A key without
/// `created` is created now. Keys whose overlap has ended are left out.
/// tollgate_admin reads the same members with the same rules. Throws OperationError with
/// Reason::kInvalid; the message does not contain a key.
management::KeysOfId read_import_record(std::string_view line, std::chrono::sys_seconds now);

/// Reads a credit, as `tollgate export balances` writes it: an object with `id` or `group`,
/// `units`, `reference` and `table`; nullopt for a line without `units`. Throws OperationError with
/// Reason::kInvalid.
std::optional<management::Credit> read_import_credit(std::string_view line);

/// Reads a line as read_import_record() does, or a group: an object with `group`, `plan` and
/// optionally `limits`, and without `id`, as `tollgate export groups` writes it.
std::variant<management::DeclaredId, management::GroupRecord> read_declaration(
    std::string_view line, std::chrono::sys_seconds now);

}  // namespace tollgate::cli
