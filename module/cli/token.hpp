#pragma once

#include <istream>
#include <string>
#include <string_view>

namespace tollgate::cli {

/// Whether a client can send this as its key: a b64token of RFC 6750, at most 512 bytes.
bool is_bearer_token(std::string_view token);

/// Reads a key that is to be imported: all of the input but one line end. Throws Failure for what
/// no client could send, and for a mistyped key of our own, which the gateway would refuse. The
/// messages don't show it.
std::string read_token(std::istream& input);

}  // namespace tollgate::cli
