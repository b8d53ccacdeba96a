#include "module/management/admin/key_body.hpp"

#include <algorithm>
#include <utility>

#include "module/management/operation_error.hpp"
#include "module/text/duration.hpp"
#include "module/text/parse_error.hpp"
#include "module/text/rfc3339.hpp"

namespace tollgate::management {

namespace {

using namespace std::chrono_literals;

[[noreturn]] void refuse_member(const std::string& why) {
    throw OperationError(Reason::kInvalid, why);
}

std::chrono::sys_seconds expiry_of(const std::string& text,
                                   std::optional<std::chrono::sys_seconds> now) {
    const auto time = parse_rfc3339(text);
    if (!time) {
        refuse_member("expires: use a time such as 2027-01-01T00:00:00Z, or null");
    }
    if (now && *time <= *now) {
        refuse_member("expires: the time is not in the future");
    }
    return *time;
}

bool is_active(const std::string& state) {
    if (state != "active" && state != "disabled") {
        refuse_member("state: use \"active\" or \"disabled\"");
    }
    return state == "active";
}

MetaChanges meta_of(JsonBody::Object& object) {
    // All members are removed, and as many are set.
    constexpr auto kMostChanges = 2 * kMostMetaMembers;
    if (object.size() > kMostChanges) {
        refuse_member("meta: more than " + std::to_string(kMostChanges) + " members");
    }
    MetaChanges changes;
    for (auto& [name, scalar] : object) {
        if (!is_valid_meta_name(name)) {
            refuse_member("meta: a name has 1 to 32 lower-case letters, digits and _");
        }
        auto& member = changes.members[name];
        if (auto* const text = std::get_if<std::string>(&scalar)) {
            member = std::move(*text);
        } else if (const auto* const flag = std::get_if<bool>(&scalar)) {
            member = *flag;
        } else if (const auto* const whole = std::get_if<std::int64_t>(&scalar)) {
            member = *whole;
        } else if (const auto* const number = std::get_if<double>(&scalar)) {
            member = *number;
        }
    }
    return changes;
}

bool is_digest(const std::string& text) {
    constexpr std::size_t kLength = 64;
    return text.size() == kLength &&
           text.find_first_not_of("0123456789abcdef") == std::string::npos;
}

}  // namespace

KeyChanges take_changes(JsonBody& body, std::optional<std::chrono::sys_seconds> now) {
    KeyChanges changes{.plan = body.take_text("plan"), .name = body.take_text_or_null("name")};
    if (body.take_null("limits")) {
        changes.limits = "";
    } else if (const auto limits = body.take_text("limits")) {
        changes.limits = uniform_limits(*limits);
    }
    if (body.take_null("expires")) {
        changes.expires.emplace(std::nullopt);
    } else if (const auto expires = body.take_text("expires")) {
        changes.expires = expiry_of(*expires, now);
    }
    if (const auto state = body.take_text("state")) {
        // An export has this state of a key that is not disabled.
        changes.active = (!now && *state == "expired") || is_active(*state);
    }
    if (body.take_null("scopes")) {
        changes.scopes = "";
    } else if (const auto scopes = body.take_texts("scopes")) {
        std::string all;
        for (const auto& scope : *scopes) {
            if (scope.empty() || scope.find(' ') != std::string::npos) {
                refuse_member("scopes: a scope has no spaces");
            }
            all += (all.empty() ? "" : " ") + scope;
        }
        changes.scopes = uniform_scopes(all);
    }
    if (body.take_null("meta")) {
        changes.meta = MetaChanges{.is_cleared = true};
    } else if (auto meta = body.take_object("meta")) {
        changes.meta = meta_of(*meta);
    }
    validate(changes);
    return changes;
}

std::optional<std::string> take_digest(JsonBody& body, const std::string& name) {
    auto digest = body.take_text(name);
    if (digest && !is_digest(*digest)) {
        refuse_member(name + ": use the SHA-256 of the key, 64 lower-case hexadecimal digits");
    }
    return digest;
}

NewKeyBody read_new_key(std::string_view body, std::chrono::sys_seconds now) {
    JsonBody json(body);
    NewKeyBody key{
        .id = json.take_text("id"), .digest = take_digest(json, "digest"), .changes = {}};
    key.changes = take_changes(json, now);
    json.require_empty();
    if (!key.changes.plan) {
        refuse_member("plan: a key needs a plan");
    }
    if (key.id) {
        require_valid_id(*key.id);
    }
    return key;
}

KeyChanges read_changes(std::string_view body, std::chrono::sys_seconds now) {
    JsonBody json(body);
    auto changes = take_changes(json, now);
    json.require_empty();
    if (changes.empty()) {
        refuse_member("the body changes nothing");
    }
    return changes;
}

std::chrono::seconds read_overlap(std::string_view body) {
    JsonBody json(body);
    const auto text = json.take_text("overlap");
    json.require_empty();
    if (!text) {
        return 24h;
    }
    // Require a unit: "24" must not end a key after 24 seconds.
    if (*text != "0" && text->find_first_not_of("0123456789") == std::string::npos) {
        refuse_member("overlap: add a unit, as in \"24h\"");
    }
    try {
        return std::chrono::ceil<std::chrono::seconds>(parse_duration(*text));
    } catch (const ParseError& error) {
        refuse_member("overlap: " + std::string(error.what()));
    }
}

}  // namespace tollgate::management
