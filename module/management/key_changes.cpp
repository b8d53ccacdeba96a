#include "module/management/key_changes.hpp"

#include <algorithm>
#include <utility>

#include "module/key/api_key.hpp"
#include "module/key/scopes.hpp"
#include "module/management/operation_error.hpp"
#include "module/quota/rate.hpp"
#include "module/text/json_writer.hpp"
#include "module/text/parse_error.hpp"
#include "module/text/rfc3339.hpp"
#include "module/text/utf8.hpp"

namespace tollgate::management {

namespace {

/// The meta after its changes.
std::string changed_meta(const MetaChanges& changes, const std::string& stored) {
    try {
        Meta meta = changes.is_cleared || stored.empty() ? Meta{} : parse_meta(stored);
        for (const auto& [name, value] : changes.members) {
            if (value) {
                meta.insert_or_assign(name, *value);
            } else {
                meta.erase(name);
            }
        }
        return write_meta(meta);
    } catch (const ParseError& error) {
        throw OperationError(Reason::kInvalid, "meta: " + std::string(error.what()));
    }
}

/// A value that contains a space or a quotation mark, or that reads as the absence of a value, is a
/// JSON string: it cannot be taken for another member.
std::string detail_value(std::string_view value) {
    const bool is_plain = value != "none" && std::ranges::all_of(value, [](char c) {
                              return c > ' ' && c <= '~' && c != '"' && c != '\\';
                          });
    if (is_plain) {
        return std::string(value);
    }
    JsonWriter json;
    json.value(value);
    return std::move(json).take();
}

[[noreturn]] void refuse(const std::string& why) {
    throw OperationError(Reason::kInvalid, why);
}

}  // namespace

std::string uniform_limits(const std::string& text) {
    std::string limits;
    try {
        for (const auto& rate : parse_rates(text)) {
            limits += (limits.empty() ? "" : " ") + format_rate(rate);
        }
    } catch (const ParseError& error) {
        refuse("limits: " + std::string(error.what()) +
               ": use one to four rates such as \"60r/m 1000r/d\" or \"100r/15m\"");
    }
    return limits;
}

void validate(const KeyChanges& changes) {
    if (changes.plan && !is_valid_name(*changes.plan)) {
        refuse("plan: invalid name: use 1 to 64 letters, digits, _, - and .");
    }
    if (changes.name && (!is_valid_key_name(*changes.name) || !is_utf8_line(*changes.name))) {
        refuse("name: invalid name: use at most 256 bytes of UTF-8 without control characters");
    }
}

void apply(const KeyChanges& changes, KeyRecord& record) {
    record.plan = changes.plan.value_or(record.plan);
    record.name = changes.name.value_or(record.name);
    record.limits = changes.limits.value_or(record.limits);
    if (changes.expires) {
        record.expires = *changes.expires;
    }
    record.active = changes.active.value_or(record.active);
    record.scopes = changes.scopes.value_or(record.scopes);
    if (changes.meta) {
        record.meta = changed_meta(*changes.meta, record.meta);
    }
}

std::string text_of(const KeyChanges& changes) {
    std::string text;
    const auto add = [&](std::string_view name, std::string_view value) {
        text.append(text.empty() ? "" : " ").append(name).append("=");
        text.append(value.empty() ? "none" : detail_value(value));
    };
    if (changes.plan) {
        add("plan", *changes.plan);
    }
    if (changes.name) {
        add("name", *changes.name);
    }
    if (changes.limits) {
        add("limits", *changes.limits);
    }
    if (changes.expires) {
        add("expires", *changes.expires ? format_time(**changes.expires) : "");
    }
    if (changes.active) {
        add("state", *changes.active ? "active" : "disabled");
    }
    if (changes.scopes) {
        add("scopes", *changes.scopes);
    }
    if (changes.meta) {
        if (changes.meta->is_cleared) {
            add("meta", "");
        }
        std::string names;
        for (const auto& [name, value] : changes.meta->members) {
            names += (names.empty() ? "" : ",") + name;
        }
        if (!names.empty()) {
            add("meta", names);
        }
    }
    return text;
}

std::string uniform_scopes(const std::string& text) {
    try {
        return parse_scopes(text);
    } catch (const ParseError& error) {
        refuse("scopes: " + std::string(error.what()));
    }
}

void require_valid_id(const std::string& id) {
    if (id.starts_with("tg_") && has_valid_checksum(id)) {
        refuse("the id is invalid because it is a key: use the id of the key");
    }
    if (!is_valid_key_id(id)) {
        refuse("invalid id: use 1 to 64 letters, digits, _, - and .");
    }
    // RFC 3986 section 6.2.2.3: a path with such a segment has another meaning.
    if (id == "." || id == "..") {
        refuse("invalid id: a URL cannot contain it");
    }
}

}  // namespace tollgate::management
