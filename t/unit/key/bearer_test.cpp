#include "module/key/bearer.hpp"

#include <gtest/gtest.h>

#include <string>

namespace tollgate {
namespace {

TEST(BearerToken, FollowsTheSchemeInAnyCaseAndSpaces) {
    for (const std::string_view field : {"Bearer k", "bearer k", "BEARER k", "bEaReR   k"}) {
        EXPECT_EQ(bearer_token(field), "k") << field;
    }
}

TEST(BearerToken, IsMissingWithoutTheSchemeOrTheToken) {
    for (const std::string_view field :
         {"", " ", "Bearer", "Bearer ", "Bearer    ", "Bearerk", "Basic k", " Bearer k", "k"}) {
        EXPECT_EQ(bearer_token(field), std::nullopt) << '"' << field << '"';
    }
}

TEST(BearerToken, MayBeMalformed) {
    for (const std::string_view token : {"k k", "k ", "\"k\"", "k,k", "=", "k=k"}) {
        EXPECT_EQ(bearer_token("Bearer " + std::string(token)), token);
        EXPECT_FALSE(is_b64token(token)) << '"' << token << '"';
    }
}

TEST(IsB64token, TakesExactlyTheCharactersOfRfc6750) {
    const std::string_view allowed =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~+/";
    for (int byte = 0; byte < 256; ++byte) {
        const std::string token(1, static_cast<char>(byte));
        EXPECT_EQ(is_b64token(token), allowed.find(token) != std::string_view::npos) << byte;
    }
}

TEST(IsB64token, TakesPaddingAtTheEndOnly) {
    EXPECT_TRUE(is_b64token("k="));
    EXPECT_TRUE(is_b64token("k==="));
    EXPECT_FALSE(is_b64token("=k"));
    EXPECT_FALSE(is_b64token("k=k"));
    EXPECT_FALSE(is_b64token("=="));
    EXPECT_FALSE(is_b64token(""));
}

TEST(IsB64token, TakesAtMost512Bytes) {
    EXPECT_TRUE(is_b64token(std::string(512, 'k')));
    EXPECT_FALSE(is_b64token(std::string(513, 'k')));
    EXPECT_FALSE(is_b64token("k" + std::string(512, '=')));
}

}  // namespace
}  // namespace tollgate
