#include "module/cli/keys/meta_option.hpp"

#include "module/cli/failure.hpp"
#include "module/cli/terminal/printable.hpp"
#include "module/key/meta.hpp"
#include "module/text/parse_error.hpp"

namespace tollgate::cli {

namespace {

/// Digits that are no number of this form, such as a number of an account, stay a text.
MetaValue meta_value(const std::string& text) {
    auto value = parse_meta_value(text);
    const bool is_text = !value || (!text.starts_with('"') && meta_text(*value) != text);
    return is_text ? MetaValue(text) : std::move(*value);
}

void apply_member(const std::string& option, Meta& meta) {
    const auto equals = option.find('=');
    if (equals == std::string::npos) {
        throw ParseError("use NAME=VALUE, or none");
    }
    const std::string name = option.substr(0, equals);
    const std::string text = option.substr(equals + 1);
    if (!is_utf8_line(option)) {
        throw ParseError("use UTF-8 without control characters");
    }
    if (text.empty() && is_valid_meta_name(name)) {
        meta.erase(name);
    } else {
        meta.insert_or_assign(name, meta_value(text));
    }
}

}  // namespace

void apply_meta(const std::vector<std::string>& values, std::string& meta) {
    if (values.empty()) {
        return;
    }
    try {
        const bool is_kept = values.front() != "none" && !meta.empty();
        Meta members = is_kept ? parse_meta(meta) : Meta{};
        for (const auto& option : values) {
            if (option == "none") {
                members.clear();
            } else {
                apply_member(option, members);
            }
        }
        meta = write_meta(members);
    } catch (const ParseError& error) {
        throw Failure(ExitStatus::kUsage, "--meta: " + std::string(error.what()));
    }
}

}  // namespace tollgate::cli
