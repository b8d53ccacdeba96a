#pragma once

#include <string>

#include "module/cli/terminal/output.hpp"
#include "module/management/database.hpp"

namespace tollgate::cli {

/// Prints the audit, the oldest entry first: columns or, with JSON, one object on a line for each
/// entry. With `id`, only the entries of this id. With `follows`, waits for further entries until
/// the process is interrupted. Throws Failure.
void print_audit(management::Database& database, const redis::Keys& keys, Format format,
                 const std::string& id, bool follows);

}  // namespace tollgate::cli
