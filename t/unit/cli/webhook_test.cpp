#include "module/cli/notify/webhook.hpp"

#include <gtest/gtest.h>

#include <string>

#include "module/text/parse_error.hpp"

namespace tollgate::cli {
namespace {

// The example of the Standard Webhooks specification and of its libraries.
constexpr const char* kSecret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
constexpr const char* kId = "msg_p5jXN8AQM9LWM0D4loKWxJek";
constexpr std::chrono::sys_seconds kTime{std::chrono::seconds(1614265330)};
constexpr const char* kBody = R"({"test": 2432232314})";
constexpr const char* kSignature = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=";

TEST(WebhookSecrets, SignAsTheSpecificationDoes) {
    EXPECT_EQ(WebhookSecrets::parse(kSecret).signatures(kId, kTime, kBody), kSignature);
}

TEST(WebhookSecrets, SignWithEachSecret) {
    const std::string other = "whsec_" + std::string(32, 'A');
    const auto secrets = WebhookSecrets::parse("\n " + other + "\r\n" + kSecret + "\n");
    EXPECT_EQ(secrets.signatures(kId, kTime, kBody),
              WebhookSecrets::parse(other).signatures(kId, kTime, kBody) + " " + kSignature);
}

TEST(WebhookSecrets, AcceptAnyPadding) {
    for (const auto* secret : {"whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA==",
                               "whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="}) {
        EXPECT_NO_THROW(WebhookSecrets::parse(secret)) << secret;
    }
}

TEST(WebhookSecrets, RefuseOtherTexts) {
    for (const auto& text :
         {std::string(), std::string(" \n"), std::string("whsec_"), std::string(32, 'A'),
          "whsec_" + std::string(28, 'A'), "whsec_" + std::string(88, 'A'),
          "whsec_" + std::string(33, 'A'), "whsec_" + std::string(29, 'A') + "===",
          "whsec_" + std::string(31, 'A') + "!", std::string(kSecret) + " more"}) {
        EXPECT_THROW(WebhookSecrets::parse(text), ParseError) << text;
    }
}

}  // namespace
}  // namespace tollgate::cli
