#pragma once

#include <cstddef>
#include <string_view>

namespace tollgate::redis {

/// The text of a file in scripts/. Such a file is Lua for editors and luacheck. It is also a C++
/// expression, which a source includes: its first line, `--R"lua(`, and its last one,
/// `--)lua"_lua`, are comments in Lua. In C++ they enclose a raw string, and `--` makes it a text.
struct LuaText {
    std::string_view text;
};

consteval LuaText operator""_lua(const char* text, std::size_t size) {
    return {{text, size}};
}

consteval std::string_view operator--(LuaText script) {
    return script.text;
}

}  // namespace tollgate::redis
