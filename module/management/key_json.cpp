#include "module/management/key_json.hpp"

#include <algorithm>
#include <optional>
#include <string_view>
#include <variant>

#include "module/key/meta.hpp"
#include "module/text/parse_error.hpp"
#include "module/text/rfc3339.hpp"

namespace tollgate::management {

namespace {

void write_text(JsonWriter& json, std::string_view name, const std::string& text) {
    json.name(name);
    if (text.empty()) {
        json.null();
    } else {
        json.value(text);
    }
}

void write_time(JsonWriter& json, std::string_view name,
                const std::optional<std::chrono::sys_seconds>& time) {
    write_text(json, name, time ? format_time(*time) : "");
}

void write_scopes(JsonWriter& json, std::string_view scopes) {
    while (!scopes.empty()) {
        const auto scope = scopes.substr(0, scopes.find(' '));
        json.value(scope);
        scopes.remove_prefix(std::min(scope.size() + 1, scopes.size()));
    }
}

/// Writes the meta as an object. If another program has stored a text that is no meta, that text.
void write_meta_value(JsonWriter& json, const std::string& stored) {
    Meta meta;
    try {
        meta = stored.empty() ? Meta{} : parse_meta(stored);
    } catch (const ParseError&) {
        json.value(stored);
        return;
    }
    json.object([&] {
        for (const auto& [name, value] : meta) {
            json.name(name);
            std::visit([&](const auto& member) { json.value(member); }, value);
        }
    });
}

}  // namespace

void write_key(JsonWriter& json, const KeysOfId& keys, std::chrono::sys_seconds now) {
    const StoredKey* current = keys.keys.empty() ? nullptr : &keys.keys.front();
    const KeyRecord record = current == nullptr ? KeyRecord{} : current->record;
    json.member("id", keys.id);
    write_text(json, "name", record.name);
    write_text(json, "plan", record.plan);
    write_text(json, "limits", record.limits);
    json.member("state", state_of(keys, now));
    write_time(json, "created",
               current == nullptr ? std::nullopt : std::optional(current->created));
    write_time(json, "expires", record.expires);
    json.array("scopes", [&] { write_scopes(json, record.scopes); });
    json.name("meta");
    write_meta_value(json, record.meta);
    json.array("digests", [&] {
        for (const auto& key : keys.keys) {
            json.object([&] {
                json.member("sha256", key.digest);
                write_time(json, "created", key.created);
                write_time(json, "expires", key.record.expires);
                json.member("retiring", key.record.retiring);
                write_time(json, "used", key.used);
            });
        }
    });
}

}  // namespace tollgate::management
