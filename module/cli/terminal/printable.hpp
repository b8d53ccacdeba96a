#pragma once

#include <string>
#include <string_view>

namespace tollgate::cli {

/// Whether a text is UTF-8 without control characters (C0, DEL, C1) and line separators.
bool is_utf8_line(std::string_view text);

/// The text on one line, without anything that a terminal acts on: control and format characters
/// are shown as `\u{202e}`, bytes below 0x20 and those that are not UTF-8 as `\x9b`.
std::string printable(std::string_view text);

/// A JSON document of UTF-8 with the same characters escaped as JSON has it: `\u202e`. Line feeds
/// and tabs between its members stay.
std::string printable_json(std::string_view json);

}  // namespace tollgate::cli
