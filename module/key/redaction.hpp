#pragma once

#include <span>
#include <string>
#include <string_view>

namespace tollgate {

/// Replaces the credentials in a line of nginx's error log, which at some levels shows a request's
/// header fields: the text after `authorization: ` up to the end of its line, the token after the
/// word `bearer`, and the values of the header fields with the names `fields` (in lower case). All
/// words are found in any case. If there are `fields`, also the literals of HTTP/3, which nginx
/// prints without their names. Never throws, never allocates.
void redact_credentials(std::span<char> line, std::span<const std::string> fields) noexcept;

/// Replaces a value of a header field that nginx prints without its name, for example as the value
/// of a variable. Values of less than 8 bytes are kept. So is the end of the line, from the address
/// of the client on: clients must not hide it. Never throws, never allocates.
void redact_value(std::span<char> line, std::string_view value) noexcept;

}  // namespace tollgate
