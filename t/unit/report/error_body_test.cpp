#include "module/report/error_body.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>

namespace tollgate {
namespace {

TEST(ErrorBody, HasCodeMessageAndStatusInThisOrder) {
    EXPECT_EQ(error_body(ErrorFormat::kError, {"a_code", "A message."}, 429),
              R"({"code":"a_code","message":"A message.","status":429})");
}

TEST(ErrorBody, NamesThePolicyThatHasRefusedTheRequest) {
    EXPECT_EQ(error_body(ErrorFormat::kError, {"a_code", "A message."}, 429, {"api", "free-day"}),
              R"({"code":"a_code","message":"A message.","status":429,"policy":"api:free-day"})");
}

TEST(ErrorBody, IsJsonWhateverTheMessage) {
    const auto body = nlohmann::json::parse(
        error_body(ErrorFormat::kError, {"c", std::string_view("\"\\\r\n\0\xff", 6)}, 400));
    EXPECT_EQ(body["message"], std::string("\"\\\r\n\0\xef\xbf\xbd", 8));
}

TEST(ErrorBody, IsAProblemOfRfc9457) {
    EXPECT_EQ(error_body(ErrorFormat::kProblem, error_of_status(404), 404),
              R"({"type":"about:blank","title":"Not Found","status":404,"detail":"Not Found",)"
              R"("code":"not_found"})");
    const auto body = nlohmann::json::parse(
        error_body(ErrorFormat::kProblem, kRateLimitExceeded, 429, {"api", "free-day"}));
    EXPECT_EQ(body["type"], "https://iana.org/assignments/http-problem-types#quota-exceeded");
    EXPECT_EQ(body["code"], "rate_limit_exceeded");
    EXPECT_EQ(body["violated-policies"], nlohmann::json::array({"free-day"}));
    EXPECT_FALSE(body.contains("policy"));
}

TEST(ErrorFormat, IsAProblemIfTheClientPrefersIt) {
    for (const auto* accept :
         {"application/problem+json", "text/html, Application/Problem+JSON",
          "*/*;q=0.1,\tapplication/problem+json ", "application/json, application/problem+json",
          "application/problem+json; charset=x; q=0.5, */*",
          "application/json;q=0.4, application/problem+json;q=0.5",
          "application/problem+json;q=x"}) {
        EXPECT_EQ(preferred_error_format(accept), ErrorFormat::kProblem) << accept;
    }
    for (const auto* accept :
         {"", ",", "*/*", "application/*", "application/json", "application/problem+xml",
          "application/problem+json;q=0", "application/problem+json;q=0.000, */*",
          "application/json, application/problem+json;Q=0.9", "x=application/problem+json"}) {
        EXPECT_EQ(preferred_error_format(accept), ErrorFormat::kError) << accept;
    }
}

TEST(ErrorOfStatus, HasACodeForEveryStatusThatNginxMakesPagesFor) {
    std::set<std::string_view> codes;
    for (const int status : {400, 401, 402, 403, 404, 405, 406, 408, 409, 410, 411, 412, 413,
                             414, 415, 416, 421, 429, 500, 501, 502, 503, 504, 505, 507}) {
        EXPECT_TRUE(codes.insert(error_of_status(status).code).second) << status;
        EXPECT_NE(error_of_status(status).code, "error") << status;
    }
    EXPECT_EQ(error_of_status(404).code, "not_found");
    EXPECT_EQ(error_of_status(404).message, "Not Found");
    EXPECT_EQ(error_of_status(599).code, "error");
}

}  // namespace
}  // namespace tollgate
