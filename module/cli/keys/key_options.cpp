#include "module/cli/keys/key_options.hpp"

#include <iostream>
#include <utility>

#include "module/cli/commands/operation_failure.hpp"
#include "module/cli/terminal/terminal.hpp"
#include "module/cli/terminal/time_text.hpp"
#include "module/key/api_key.hpp"
#include "module/key/bearer.hpp"
#include "module/key/meta.hpp"
#include "module/redis/protocol/redis_time.hpp"
#include "module/text/utf8.hpp"

namespace tollgate::cli {

namespace {

/// Digits that are no number of this form, such as a number of an account, stay a text.
MetaValue meta_value(const std::string& text) {
    auto value = parse_meta_value(text);
    const bool is_text = !value || (!text.starts_with('"') && meta_text(*value) != text);
    return is_text ? MetaValue(text) : std::move(*value);
}

management::MetaChanges read_meta(const std::vector<std::string>& given) {
    management::MetaChanges changes;
    for (const auto& option : given) {
        if (option == "none") {
            changes = {.is_cleared = true};
            continue;
        }
        const auto equals = option.find('=');
        const std::string name = option.substr(0, equals);
        if (equals == std::string::npos || !is_valid_meta_name(name)) {
            throw Failure(ExitStatus::kUsage, "--meta: use NAME=VALUE, or none: a name has " +
                                                  std::string(kMetaNameRule));
        }
        if (!is_utf8_line(option)) {
            throw Failure(ExitStatus::kUsage, "--meta: use UTF-8 without control characters");
        }
        const std::string text = option.substr(equals + 1);
        changes.members[name] = text.empty() ? std::nullopt : std::optional(meta_value(text));
    }
    return changes;
}

/// What Redis stores of the value of an option. The values of a repeated one are separated by
/// spaces. Throws Failure.
std::string value_of(const redis::RecordField& field, const std::vector<std::string>& given,
                     std::chrono::sys_seconds now) {
    std::string text;
    for (const auto& value : given) {
        text.append(text.empty() ? "" : " ").append(value);
    }
    if (!field.none.empty() && text == field.none) {
        return "";
    }
    if (field.form == redis::FieldForm::kTime) {
        const auto time = parse_time(text, now);
        if (time <= now) {
            throw Failure(ExitStatus::kUsage, "the time \"" + text + "\" is not in the future");
        }
        return redis::unix_time(time);
    }
    auto value = check_options([&] { return management::new_value(field, text); });
    // It would be a scope of this name.
    if (field.form == redis::FieldForm::kWords &&
        (" " + value + " ").find(" " + std::string(field.none) + " ") != std::string::npos) {
        throw Failure(ExitStatus::kUsage, std::string(field.option) + ": " +
                                              std::string(field.none) +
                                              " cannot be given with other values");
    }
    return value;
}

}  // namespace

management::KeyChanges read_key_options(const CommandLine& line, std::chrono::sys_seconds now) {
    management::KeyChanges changes;
    for (const auto& field : redis::record_fields()) {
        const auto given = line.key.find(field.name);
        if (given == line.key.end() || given->second.empty()) {
            continue;
        }
        if (field.form == redis::FieldForm::kMeta) {
            changes.meta = read_meta(given->second);
        } else {
            changes.values.emplace(field.name, value_of(field, given->second, now));
        }
    }
    return changes;
}

std::string read_api_key() {
    std::string token;
    if (stdin_is_terminal()) {
        token = read_hidden_line("Key (it is not shown): ");
    } else {
        // Read one byte more than the longest token with CR LF, to detect a longer token.
        token.resize(kLongestToken + 3);
        std::cin.read(token.data(), static_cast<std::streamsize>(token.size()));
        token.resize(static_cast<std::size_t>(std::cin.gcount()));
    }
    for (const char end : {'\n', '\r'}) {
        if (token.ends_with(end)) {
            token.pop_back();
        }
    }
    if (!is_b64token(token)) {
        throw Failure(ExitStatus::kUsage,
                      "standard input does not contain a key: a key is one line of " +
                          std::string(kTokenRule));
    }
    if (!has_valid_checksum(token)) {
        throw Failure(
            ExitStatus::kUsage,
            "the key begins with tg_ and has a wrong checksum: it is mistyped or incomplete");
    }
    return token;
}

}  // namespace tollgate::cli
