#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>

#include "module/management/admin/admin_api.hpp"
#include "module/management/admin/resources.hpp"
#include "module/text/ascii.hpp"

namespace tollgate::management {
namespace {

using nlohmann::json;

json document_at(std::string_view location) {
    return json::parse(openapi_document(location));
}

TEST(OpenApiDocumentTest, HasEveryEndpoint) {
    const auto document = document_at("/admin/");
    std::size_t documented = 0;
    for (const auto& path : document.at("paths")) {
        documented += path.size() - path.count("parameters");
    }
    for (const auto& part : endpoints()) {
        for (const auto& endpoint : part) {
            std::string method(endpoint.method);
            std::ranges::transform(method, method.begin(), to_lower);
            const auto& operation =
                document.at("paths").at("/" + std::string(endpoint.path)).at(method);
            EXPECT_EQ(operation.at("operationId"), endpoint.operation);
            for (const auto* text : {"summary", "description", "tags"}) {
                EXPECT_FALSE(operation.at(text).empty()) << endpoint.operation;
            }
            EXPECT_LE(operation.at("responses").begin().key(), "204") << "how it succeeds";
            for (std::size_t i = 0; i < endpoint.parameters.size(); ++i) {
                const auto& parameter = operation.at("parameters").at(i);
                EXPECT_EQ(parameter.at("name"), endpoint.parameters[i].name);
                EXPECT_FALSE(parameter.at("description").empty());
                EXPECT_TRUE(parameter.contains("example"));
            }
            --documented;
        }
    }
    EXPECT_EQ(documented, 0);
}

TEST(OpenApiDocumentTest, HasTheBoundsOfParameters) {
    const auto limit = document_at("/")["paths"]["/keys"]["get"]["parameters"][0]["schema"];
    EXPECT_EQ(limit, json::parse(R"({"type":"integer","minimum":1,"maximum":100,"default":50})"));
}

TEST(OpenApiDocumentTest, HasTheLocation) {
    const auto url_at = [](std::string_view location) {
        return document_at(location)["servers"][0]["url"].get<std::string>();
    };
    EXPECT_EQ(url_at("/admin/"), "/admin");
    EXPECT_EQ(url_at("/"), "/");
    EXPECT_EQ(url_at("/a\"b\\/"), "/a\"b\\") << "as a JSON text";
}

}  // namespace
}  // namespace tollgate::management
