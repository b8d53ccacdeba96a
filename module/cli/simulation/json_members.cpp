#include "module/cli/simulation/json_members.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace tollgate::cli {

namespace {

bool is_json_space(char c) {
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

}  // namespace

JsonMembers::JsonMembers(std::string_view line) : rest_(line) {
    skip_space();
    if (!take('{')) {
        rest_ = {};
    }
}

void JsonMembers::skip_space() {
    // nginx writes no spaces.
    while (!rest_.empty() && is_json_space(rest_.front())) {
        rest_.remove_prefix(1);
    }
}

bool JsonMembers::take(char c) {
    if (!rest_.starts_with(c)) {
        return false;
    }
    rest_.remove_prefix(1);
    return true;
}

bool JsonMembers::take_text(std::string_view& text) {
    if (!take('"')) {
        return false;
    }
    for (auto end = rest_.find('"'); end != std::string_view::npos;
         end = rest_.find('"', end + 1)) {
        std::size_t backslashes = 0;
        while (backslashes < end && rest_[end - 1 - backslashes] == '\\') {
            ++backslashes;
        }
        if (backslashes % 2 == 0) {
            text = rest_.substr(0, end);
            rest_.remove_prefix(end + 1);
            return true;
        }
    }
    return false;
}

/// Takes a value that is not a text, up to the `,` or `}` after it.
bool JsonMembers::take_other(std::string_view& value) {
    const std::string_view text = rest_;
    std::size_t depth = 0;
    while (!rest_.empty()) {
        const char next = rest_.front();
        if (next == '"') {
            std::string_view inner;
            if (!take_text(inner)) {
                return false;
            }
            continue;
        }
        const bool closes = next == '}' || next == ']';
        if (depth == 0 && (closes || next == ',')) {
            value = text.substr(0, text.size() - rest_.size());
            value = value.substr(0, value.find_last_not_of(" \t\r\n") + 1);
            return !value.empty();
        }
        depth += next == '{' || next == '[' ? 1 : 0;
        depth -= closes ? 1 : 0;
        rest_.remove_prefix(1);
    }
    return false;
}

bool JsonMembers::next(JsonMember& member) {
    skip_space();
    if (take('}')) {
        skip_space();
        is_complete_ = rest_.empty();
        rest_ = {};
        return false;
    }
    if (!is_first_ && !take(',')) {
        return false;
    }
    is_first_ = false;
    skip_space();
    if (!take_text(member.name)) {
        return false;
    }
    skip_space();
    if (!take(':')) {
        return false;
    }
    skip_space();
    member.is_text = rest_.starts_with('"');
    return member.is_text ? take_text(member.value) : take_other(member.value);
}

std::string without_json_escapes(std::string_view text) {
    const auto json = nlohmann::json::parse('"' + std::string(text) + '"', nullptr, false);
    return json.is_string() ? json.get<std::string>() : std::string(text);
}

}  // namespace tollgate::cli
