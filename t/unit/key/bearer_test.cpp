#include "module/key/bearer.hpp"

#include <gtest/gtest.h>

#include <string>

namespace tollgate {
namespace {

using Kind = Credentials::Kind;

TEST(ParseBearer, TakesTheSchemeInAnyCaseAndSpaces) {
    for (const std::string_view field : {"Bearer k", "bearer k", "BEARER k", "bEaReR   k"}) {
        const Credentials credentials = parse_bearer(field);
        EXPECT_EQ(credentials.kind, Kind::kToken) << field;
        EXPECT_EQ(credentials.token, "k") << field;
    }
}

TEST(ParseBearer, IsMissingWithoutTheSchemeOrTheToken) {
    for (const std::string_view field :
         {"", " ", "Bearer", "Bearer ", "Bearer    ", "Bearerk", "Basic k", " Bearer k", "k"}) {
        EXPECT_EQ(parse_bearer(field).kind, Kind::kMissing) << '"' << field << '"';
    }
}

TEST(ParseBearer, IsMalformedIfTheTokenIs) {
    for (const std::string_view field :
         {"Bearer k k", "Bearer k ", "Bearer \"k\"", "Bearer k,k", "Bearer =", "Bearer k=k"}) {
        EXPECT_EQ(parse_bearer(field).kind, Kind::kMalformed) << '"' << field << '"';
        EXPECT_EQ(parse_bearer(field).token, "") << '"' << field << '"';
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
