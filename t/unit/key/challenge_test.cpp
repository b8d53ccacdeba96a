#include "module/key/challenge.hpp"

#include <gtest/gtest.h>

namespace tollgate {
namespace {

TEST(BearerChallenge, NamesTheRealmAndTheErrorOfAKey) {
    EXPECT_EQ(bearer_challenge("api", false), R"(Bearer realm="api")");
    EXPECT_EQ(bearer_challenge("api", true), R"(Bearer realm="api", error="invalid_token")");
    EXPECT_EQ(bearer_challenge("", false), R"(Bearer realm="")");
}

TEST(BearerChallenge, QuotesTheRealm) {
    EXPECT_EQ(bearer_challenge(R"(a "b" \c)", false), R"(Bearer realm="a \"b\" \\c")");
}

TEST(BearerChallenge, HoldsNoControlCharacter) {
    for (int byte = 0; byte < 256; ++byte) {
        const auto challenge = bearer_challenge(std::string(1, static_cast<char>(byte)), false);
        for (const char c : challenge) {
            const auto code = static_cast<unsigned char>(c);
            EXPECT_TRUE(code >= 0x20 && code != 0x7f) << byte;
        }
    }
    EXPECT_EQ(bearer_challenge("a\r\nb\tc", false), R"(Bearer realm="a  b c")");
}

}  // namespace
}  // namespace tollgate
