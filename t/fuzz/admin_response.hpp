#pragma once

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "module/management/admin/admin_api.hpp"
#include "module/management/admin/resources.hpp"
#include "module/management/key_reader.hpp"
#include "t/fuzz/fuzz_target.hpp"
#include "t/unit/management/given_replies.hpp"
#include "t/unit/management/test_rights.hpp"

namespace tollgate::fuzz {

/// Parses a body of a response. nlohmann_json refuses texts that are not UTF-8.
inline nlohmann::json parsed_body(const std::string& body) {
    auto json = nlohmann::json::parse(body, nullptr, false);
    require(json.is_object());
    return json;
}

/// The first endpoint of the API that `is_wanted` accepts, null without one.
inline const management::Endpoint* find_endpoint(const auto& is_wanted) {
    for (const auto& part : management::endpoints()) {
        if (const auto found = std::ranges::find_if(part, is_wanted); found != part.end()) {
            return &*found;
        }
    }
    return nullptr;
}

/// The link to the next page has a query that can be read.
inline void check_link(std::string_view link) {
    constexpr std::string_view kEnd = ">; rel=\"next\"";
    require(link.starts_with('<') && link.ends_with(kEnd));
    link = link.substr(1, link.size() - 1 - kEnd.size());
    const auto query = link.find('?');
    const auto* list = find_endpoint([&](const management::Endpoint& endpoint) {
        return endpoint.path == link.substr(0, query);
    });
    require(list != nullptr && list->method == "GET");
    const management::Query next(link.substr(query + 1), list->parameters);
    require(next.find("after").has_value());
}

inline void check_error(int status, const nlohmann::json& body) {
    require(body.size() == 3);
    require(body["status"] == status);
    require(body["code"].is_string() && !body["code"].get_ref<const std::string&>().empty());
    require(body["message"].is_string() && !body["message"].get_ref<const std::string&>().empty());
}

/// The body of a response is JSON, and its fields are those of the API. Returns the body, which is
/// null if the response has none.
inline nlohmann::json check_response(const management::AdminResponse& response) {
    constexpr std::array kStatuses{200, 201, 204, 400, 403, 404, 405, 409, 412, 422, 503};
    require(std::ranges::find(kStatuses, response.status) != kStatuses.end());
    for (const auto& [name, value] : response.fields) {
        require(name == "Link" || name == "Location" || name == "Allow" || name == "Retry-After" ||
                name == "ETag");
        require(std::ranges::all_of(value, [](char c) { return c >= ' ' && c <= '~'; }));
        if (name == "Link") {
            check_link(value);
        }
    }
    require(response.body.empty() == (response.status == 204));
    if (response.body.empty()) {
        return {};
    }
    // It is always the same, and long.
    static const auto document = management::openapi_document("/");
    if (response.body == document) {
        return {};
    }
    auto body = parsed_body(response.body);
    if (response.status >= 400) {
        check_error(response.status, body);
    }
    return body;
}

/// The response to a request. The API throws nothing.
inline management::AdminResponse response_to(management::Database& database,
                                             std::vector<const PlanTable*> tables,
                                             management::AdminRequest request) {
    static const auto keys = management::GivenReplies::keys();
    management::TestRights rights;
    return run_to_end(handle(database, keys, std::move(tables), rights, std::move(request)));
}

}  // namespace tollgate::fuzz
