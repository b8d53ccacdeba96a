#pragma once

#include <string>
#include <vector>

#include "module/management/key_changes.hpp"

namespace tollgate::cli {

/// Reads the values of `--meta`, in their order: `NAME=VALUE` sets a member, `NAME=` removes it,
/// `none` removes all. VALUE is `true`, `false`, a number in JSON's shortest form, or a JSON
/// string; any other VALUE is the text itself. Throws Failure.
management::MetaChanges read_meta_options(const std::vector<std::string>& values);

}  // namespace tollgate::cli
