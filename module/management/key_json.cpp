#include "module/management/key_json.hpp"

#include <optional>
#include <string_view>

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
    json.array("digests", [&] {
        for (const auto& key : keys.keys) {
            json.object([&] {
                json.member("sha256", key.digest);
                write_time(json, "created", key.created);
                write_time(json, "expires", key.record.expires);
                json.member("retiring", key.retiring);
            });
        }
    });
}

}  // namespace tollgate::management
