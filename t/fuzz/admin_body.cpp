// The body of a request of tollgate_admin, and the meta of a key.

#include <optional>

#include "module/key/meta.hpp"
#include "module/key/scopes.hpp"
#include "module/management/admin/json_body.hpp"
#include "module/management/admin/key_body.hpp"
#include "module/management/key_json.hpp"
#include "module/text/parse_error.hpp"
#include "module/text/utf8.hpp"
#include "t/fuzz/admin_response.hpp"
#include "t/fuzz/fuzz_target.hpp"

namespace tollgate::fuzz {

namespace {

using namespace std::chrono_literals;
using namespace management;

constexpr std::chrono::sys_seconds kNow{1'700'000'000s};
const HeldRights kRights{.id = "portal", .scopes = "a b"};

/// What `read` returns; nothing if it refuses the body. It throws nothing else.
template <typename Read>
auto accepted(Read read) -> std::optional<decltype(read())> {
    try {
        return read();
    } catch (const OperationError& error) {
        require(error.reason() == Reason::kInvalid || error.reason() == Reason::kNotPermitted);
        return std::nullopt;
    }
}

/// A record obeys the limits that gateways check: see redis::read_lookup().
void check_record(const KeyRecord& record) {
    require(record.plan.empty() || is_valid_name(record.plan));
    require(is_valid_key_name(record.name) && is_utf8_line(record.name));
    for (const auto& field : redis::record_fields()) {
        const auto stored = redis::stored_text(field, record);
        require(stored.empty() || field.parse_new == nullptr || field.parse_new(stored) == stored);
    }
    require(!record.expires || (*record.expires > kNow && *record.expires <= kLatestInstant));
    require(parse_scopes(record.scopes) == record.scopes);
    require(record.meta.size() <= kLongestMeta);
    require(record.meta.empty() || write_meta(parse_meta(record.meta)) == record.meta);
}

/// The API shows the record as the body describes it.
void check_shown(const KeyRecord& record) {
    KeysOfId keys{.id = "k1", .keys = {{.digest = "d", .record = record, .created = kNow}}};
    JsonWriter json;
    json.object([&] { write_key(json, keys, kNow); });
    const auto body = parsed_body(std::move(json).take());
    require(record.name.empty() ? body["name"].is_null() : body["name"] == record.name);
    require(record.limits.empty() ? body["limits"].is_null() : body["limits"] == record.limits);
    require(body["state"] == (record.active ? "active" : "disabled"));
    require(body["meta"] ==
            (record.meta.empty() ? nlohmann::json::object() : nlohmann::json::parse(record.meta)));
    std::string scopes;
    for (const auto& scope : body["scopes"]) {
        scopes.append(scopes.empty() ? "" : " ").append(scope.get<std::string>());
    }
    require(scopes == record.scopes);
}

void check_changes(const KeyChanges& changes) {
    require(is_utf8_line(audit_text(changes)));
    for (const auto* stored : {"", R"({"a":1,"b":"x","customer":"c_1042"})"}) {
        const auto changed = accepted([&] {
            KeyRecord record;
            record.meta = stored;
            apply(changes, record);
            return record;
        });
        require(changed || (changes.meta && !changes.meta->members.empty()));
        if (changed) {
            check_record(*changed);
            check_shown(*changed);
        }
    }
}

void check_meta(std::string_view text) {
    try {
        const Meta meta = parse_meta(text);
        const auto json = nlohmann::json::parse(text, nullptr, false);
        require(json.is_object() && json.size() == meta.size());
        const std::string written = write_meta(meta);
        require(written.empty() == meta.empty());
        require(written.empty() || write_meta(parse_meta(written)) == written);
    } catch (const ParseError& error) {
        require(!std::string_view(error.what()).empty());
    }
    if (const auto value = parse_meta_value(text)) {
        const auto json = nlohmann::json::parse(text, nullptr, false);
        require(json.is_string() || json.is_boolean() || json.is_number());
        require(json.is_string() ? json == meta_text(*value)
                                 : nlohmann::json::parse(meta_text(*value)) == json);
    }
}

GivenReplies database() {
    return GivenReplies({{"TIME", {array_of({"1700000000", "0"})}}});
}

/// A request with a body that is not valid gets a 400. The database executes no changes.
void check_request(std::string_view method, std::string_view path, std::string_view body,
                   bool is_valid) {
    auto redis = database();
    const auto response = response_to(redis, {},
                                      {.method = std::string(method),
                                       .path = ResourcePath::of_decoded(path),
                                       .body = std::string(body),
                                       .actor = "key:a"});
    check_response(response);
    require((response.status == 400 || response.status == 403) == !is_valid);
}

}  // namespace

void check(std::string_view input) {
    const auto json = accepted([&] { return JsonBody(input); });
    require(!json || input.empty() || nlohmann::json::accept(input));
    const auto created = accepted([&] { return read_new_key(input, kNow, kRights); });
    if (created) {
        require(created->changes.has("plan"));
        require(!created->id || is_valid_key_id(*created->id));
        require(!created->digest || created->digest->size() == 64);
        check_changes(created->changes);
    }
    const auto changed = accepted([&] { return read_changes(input, kNow, kRights, "a"); });
    if (changed) {
        require(!changed->empty());
        check_changes(*changed);
    }
    const auto rotation = accepted([&] { return read_rotation(input); });
    require(!rotation || (rotation->overlap >= 0s && rotation->overlap <= std::chrono::years(100)));
    require(!rotation || !rotation->digest || rotation->digest->size() == 64);
    require(json || (!created && !changed && !rotation));
    check_request("POST", "keys", input, created.has_value());
    check_request("POST", "keys/k1/rotate", input, rotation.has_value());
    check_meta(input);
}

}  // namespace tollgate::fuzz
