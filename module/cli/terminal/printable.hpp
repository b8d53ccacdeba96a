#pragma once

#include <string>
#include <string_view>

namespace tollgate::cli {

/// Escapes everything in a text that a terminal interprets, including line ends. Control and format
/// characters become `\u{202e}`. Bytes below 0x20 and bytes that are not UTF-8 become `\x9b`.
std::string printable(std::string_view text);

/// Escapes the same characters in a JSON document, as `\u202e`. Line feeds and tabs are kept. Bytes
/// that are not UTF-8 become `\ufffd`.
std::string printable_json(std::string_view json);

}  // namespace tollgate::cli
