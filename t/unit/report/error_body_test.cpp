#include "module/report/error_body.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>

namespace tollgate {
namespace {

TEST(ErrorBody, HasCodeMessageAndStatusInThisOrder) {
    EXPECT_EQ(error_body({"a_code", "A message."}, 429),
              R"({"code":"a_code","message":"A message.","status":429})");
}

TEST(ErrorBody, NamesThePolicyThatHasRefusedTheRequest) {
    EXPECT_EQ(error_body({"a_code", "A message."}, 429, "api:free-day"),
              R"({"code":"a_code","message":"A message.","status":429,"policy":"api:free-day"})");
}

TEST(ErrorBody, IsJsonWhateverTheMessage) {
    const auto body =
        nlohmann::json::parse(error_body({"c", std::string_view("\"\\\r\n\0\xff", 6)}, 400));
    EXPECT_EQ(body["message"], std::string("\"\\\r\n\0\xef\xbf\xbd", 8));
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
