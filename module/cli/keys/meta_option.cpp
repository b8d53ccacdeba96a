#include "module/cli/keys/meta_option.hpp"

#include "module/cli/failure.hpp"
#include "module/key/meta.hpp"
#include "module/text/utf8.hpp"

namespace tollgate::cli {

namespace {

/// Digits that are no number of this form, such as a number of an account, stay a text.
MetaValue meta_value(const std::string& text) {
    auto value = parse_meta_value(text);
    const bool is_text = !value || (!text.starts_with('"') && meta_text(*value) != text);
    return is_text ? MetaValue(text) : std::move(*value);
}

void read_member(const std::string& option, management::MetaChanges& changes) {
    const auto equals = option.find('=');
    const std::string name = option.substr(0, equals);
    if (equals == std::string::npos || !is_valid_meta_name(name)) {
        throw Failure(ExitStatus::kUsage,
                      "--meta: use NAME=VALUE, or none: a name has 1 to 32 lower-case letters, "
                      "digits and _");
    }
    if (!is_utf8_line(option)) {
        throw Failure(ExitStatus::kUsage, "--meta: use UTF-8 without control characters");
    }
    const std::string text = option.substr(equals + 1);
    changes.members[name] = text.empty() ? std::nullopt : std::optional(meta_value(text));
}

}  // namespace

management::MetaChanges read_meta_options(const std::vector<std::string>& values) {
    management::MetaChanges changes;
    for (const auto& option : values) {
        if (option == "none") {
            changes = {.is_cleared = true};
        } else {
            read_member(option, changes);
        }
    }
    return changes;
}

}  // namespace tollgate::cli
