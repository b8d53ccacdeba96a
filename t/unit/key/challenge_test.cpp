#include "module/key/challenge.hpp"

#include <gtest/gtest.h>

#include <string>

namespace tollgate {
namespace {

TEST(Challenge, NamesTheRealmAndTheErrorOfAKey) {
    EXPECT_EQ(challenge_text({.realm = "api"}), R"(Bearer realm="api")");
    EXPECT_EQ(challenge_text({.realm = ""}), R"(Bearer realm="")");
    EXPECT_EQ(challenge_text({.realm = "api", .error = "invalid_token"}),
              R"(Bearer realm="api", error="invalid_token")");
}

TEST(Challenge, NamesTheScopesThatAreRequired) {
    EXPECT_EQ(challenge_text({.realm = "a", .error = "insufficient_scope", .scope = "read write"}),
              R"(Bearer realm="a", error="insufficient_scope", scope="read write")");
}

TEST(Challenge, NamesTheFieldOfTheKey) {
    EXPECT_EQ(challenge_text({.realm = "api", .field = "X-API-Key", .error = "invalid_token"}),
              R"(ApiKey realm="api", in="header", name="X-API-Key", error="invalid_token")");
}

TEST(Challenge, QuotesTheRealm) {
    EXPECT_EQ(challenge_text({.realm = R"(a "b" \c)"}), R"(Bearer realm="a \"b\" \\c")");
}

TEST(Challenge, HoldsNoControlCharacter) {
    for (int byte = 0; byte < 256; ++byte) {
        const std::string realm(1, static_cast<char>(byte));
        for (const char c : challenge_text({.realm = realm})) {
            const auto code = static_cast<unsigned char>(c);
            EXPECT_TRUE(code >= 0x20 && code != 0x7f) << byte;
        }
    }
    EXPECT_EQ(challenge_text({.realm = "a\r\nb\tc"}), R"(Bearer realm="a  b c")");
}

}  // namespace
}  // namespace tollgate
