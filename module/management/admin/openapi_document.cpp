#include <algorithm>
#include <array>

#include "module/management/admin/admin_api.hpp"
#include "module/management/admin/resources.hpp"
#include "module/management/operations.hpp"
#include "module/redis/protocol/record_fields.hpp"
#include "module/text/ascii.hpp"

namespace tollgate::management {

namespace {

/// A JSON object with three members: the document without its paths, an example of a key, and what
/// there is to say about each endpoint by the name of its operation.
constexpr std::string_view kTexts =
#include "module/management/admin/openapi.json"
    ;

/// The object that is a member of a JSON object. Both are texts.
std::string_view object_in(std::string_view json, std::string_view name) {
    int depth = 0;
    std::size_t begin = 0;
    std::string_view last;  // name or text in the outer object
    for (std::size_t i = 0; i < json.size(); ++i) {
        if (json[i] == '"') {
            const auto text = i + 1;
            while (json[++i] != '"') {
                i += json[i] == '\\' ? 1 : 0;
            }
            last = depth == 1 ? json.substr(text, i - text) : last;
        } else if (json[i] == '{' && ++depth == 2 && last == name) {
            begin = i;
        } else if (json[i] == '}' && --depth == 1 && begin != 0) {
            return json.substr(begin, i + 1 - begin);
        }
    }
    return {};
}

/// The members of an object, to be put into another one.
std::string_view members_of(std::string_view object) {
    return object.empty() ? object : object.substr(1, object.size() - 2);
}

/// Texts as elements of a JSON list. They have no characters that JSON escapes.
std::string list_of(std::span<const std::string_view> texts) {
    std::string list;
    for (const auto text : texts) {
        list.append(list.empty() ? "\"" : ", \"").append(text).append("\"");
    }
    return list;
}

std::string schema_of(const QueryParameter& parameter) {
    using Form = QueryParameter::Form;
    switch (parameter.form) {
        case Form::kNumber:
            return R"({"type": "integer", "minimum": )" + std::to_string(parameter.least) +
                   R"(, "maximum": )" + std::to_string(parameter.most) + R"(, "default": )" +
                   std::to_string(parameter.otherwise) + "}";
        case Form::kChoice:
            return R"({"type": "string", "enum": [)" + list_of(parameter.choices) + "]}";
        case Form::kDay:
            return R"({"$ref": "#/components/schemas/Day"})";
        default:
            return R"({"type": "string"})";
    }
}

std::string reference(std::string_view kind, std::string_view name) {
    return R"({"$ref": "#/components/)" + std::string(kind) + "/" + std::string(name) + "\"}";
}

std::string parameters_of(const Endpoint& endpoint, std::string_view texts) {
    std::string list;
    for (const auto& parameter : endpoint.parameters) {
        list.append(R"({"in": "query", "required": false, "name": ")")
            .append(parameter.name)
            .append(R"(", "schema": )")
            .append(schema_of(parameter))
            .append(", ")
            .append(members_of(object_in(texts, parameter.name)))
            .append("}, ");
    }
    if (endpoint.takes_idempotency_key()) {
        list.append(reference("parameters", "IdempotencyKey")).append(", ");
    }
    return list + reference("parameters", "IfMatch") + ", " +
           reference("parameters", "IfNoneMatch");
}

/// The responses that endpoints share.
std::string shared_responses(const Endpoint& endpoint, bool has_body) {
    struct Shared {
        std::string_view status;
        std::string_view name;
        bool is_possible = true;
    };
    const std::array shared{
        Shared{"304", "NotModified", endpoint.method == "GET"},
        Shared{"400", "Invalid"},
        Shared{"401", "Unauthorized"},
        Shared{"403", "Forbidden"},
        Shared{"404", "Unknown", endpoint.has_id() && !endpoint.creates},
        Shared{"412", "PreconditionFailed"},
        Shared{"413", "TooLarge", has_body},
        Shared{"415", "UnsupportedMedia", has_body},
        Shared{"422", "IdempotencyKeyReused", endpoint.takes_idempotency_key()},
        Shared{"429", "TooMany"},
        Shared{"503", "Unavailable"},
    };
    std::string members;
    for (const auto& response : shared) {
        if (response.is_possible) {
            members.append(", \"").append(response.status).append("\": ");
            members.append(reference("responses", response.name));
        }
    }
    return members;
}

void add_operation(std::string& text, const Endpoint& endpoint) {
    const auto texts = object_in(object_in(kTexts, "operations"), endpoint.operation);
    const auto about = object_in(texts, "about");
    std::string method(endpoint.method);
    std::ranges::transform(method, method.begin(), to_lower);
    text.append("\"").append(method).append(R"(": {"operationId": ")").append(endpoint.operation);
    text.append("\", ").append(members_of(about)).append(R"(, "parameters": [)");
    text.append(parameters_of(endpoint, object_in(texts, "parameters")));
    text.append(R"(], "responses": {)").append(members_of(object_in(texts, "responses")));
    text.append(shared_responses(endpoint, !object_in(about, "requestBody").empty())).append("}}");
}

std::string paths() {
    std::string text = "{";
    std::string_view path;
    for (const auto& part : endpoints()) {
        for (const auto& endpoint : part) {
            if (endpoint.path != path) {
                text.append(path.empty() ? "" : "},\n").append("\"/").append(endpoint.path);
                text.append("\": {");
                text.append(endpoint.has_id()
                                ? "\"parameters\": [" + reference("parameters", "Id") + "], "
                                : "");
                path = endpoint.path;
            } else {
                text.append(",\n");
            }
            add_operation(text, endpoint);
        }
    }
    return text + "}}";
}

/// The names of the fields that have a property, with these values, as members of an object.
/// Without values, as elements of a list.
std::string members(bool redis::RecordField::*property,
                    std::string_view redis::RecordField::*value) {
    std::string text;
    for (const auto& field : redis::record_fields()) {
        if (field.*property) {
            text.append(text.empty() ? "\"" : ", \"").append(field.name).append("\"");
            text.append(value == nullptr ? "" : ": ").append(value == nullptr ? "" : field.*value);
        }
    }
    return text;
}

void replace_all(std::string& text, std::string_view place, std::string_view with) {
    for (auto at = text.find(place); at != std::string::npos; at = text.find(place, at)) {
        text.replace(at, place.size(), with);
        at += with.size();
    }
}

}  // namespace

std::string openapi_document(std::string_view location) {
    location.remove_suffix(location.ends_with('/') ? 1 : 0);
    JsonWriter url;
    url.value(location.empty() ? "/" : location);
    std::string document(object_in(kTexts, "document"));
    replace_all(document, R"("{PATHS}")", paths());
    replace_all(document, R"("{KEY}": 0)", members_of(object_in(kTexts, "key")));
    replace_all(document, R"("{STATES}")", list_of(kStates));
    constexpr auto kOfKey = &redis::RecordField::is_settable;
    constexpr auto kOfQuota = &redis::RecordField::sets_quotas;
    constexpr auto kShown = &redis::RecordField::shown_schema;
    constexpr auto kNew = &redis::RecordField::new_schema;
    replace_all(document, R"("{NAMES}")", members(kOfKey, nullptr));
    replace_all(document, R"("{SHOWN}": 0)", members(kOfKey, kShown));
    replace_all(document, R"("{SETTABLE}": 0)", members(kOfKey, kNew));
    replace_all(document, R"("{EXAMPLES}": 0)", members(kOfKey, &redis::RecordField::example));
    replace_all(document, R"("{NAMES_OF_QUOTA}")", members(kOfQuota, nullptr));
    replace_all(document, R"("{SHOWN_OF_QUOTA}": 0)", members(kOfQuota, kShown));
    replace_all(document, R"("{SETTABLE_OF_QUOTA}": 0)", members(kOfQuota, kNew));
    replace_all(document, "{OVERLAP}", kDefaultOverlap);
    replace_all(document, R"("{LOCATION}")", std::move(url).take());
    return document;
}

}  // namespace tollgate::management
