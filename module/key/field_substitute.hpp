#pragma once

#include <string>
#include <string_view>

#include "module/key/digest.hpp"

namespace tollgate {

/// A random number that only the workers of a node know.
using FieldSecret = Sha256;

/// A header field with credentials that was removed from a request.
struct RemovedField {
    std::string_view sent;  ///< its value
    std::string_view id;    ///< of the client that was authenticated; empty: of none
};

/// The text that the variable of a removed field has in its place. It is the same for the same id
/// (without an id: for the same value) and this secret, and different for others. Nobody can
/// compute it without the secret, and it is no key of any kind: it contains `*`, which no token
/// has. It begins with the scheme that was sent, `Bearer` or `Basic`. Throws std::runtime_error if
/// OpenSSL fails.
std::string field_substitute(const FieldSecret& secret, const RemovedField& field);

}  // namespace tollgate
