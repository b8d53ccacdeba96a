#pragma once

#include <string>
#include <vector>

namespace tollgate::cli {

/// Changes the meta of a key by the values of `--meta`, in their order: `NAME=VALUE` sets a member,
/// `NAME=` removes it, `none` removes all. VALUE is `true`, `false`, a number in JSON's shortest
/// form, or a JSON string; any other VALUE is the text itself. `meta` is in the form of write_meta.
/// Throws Failure.
void apply_meta(const std::vector<std::string>& values, std::string& meta);

}  // namespace tollgate::cli
