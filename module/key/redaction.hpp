#pragma once

#include <span>

namespace tollgate {

/// Replaces the credentials in a line of nginx's error log, which at some levels shows a request's
/// header fields: the text after `authorization: ` up to the end of its line, and the token after
/// the word `bearer`, both in any case. Never throws, never allocates.
void redact_credentials(std::span<char> line) noexcept;

}  // namespace tollgate
