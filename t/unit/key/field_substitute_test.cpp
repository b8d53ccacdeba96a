#include "module/key/field_substitute.hpp"

#include <gtest/gtest.h>

#include <set>

#include "module/key/bearer.hpp"

namespace tollgate {

namespace {

constexpr FieldSecret kSecretOfNode{1, 2, 3};

TEST(FieldSubstitute, IsOfTheIdOrElseOfTheValue) {
    const auto of = [](std::string_view sent, std::string_view id) {
        return field_substitute(kSecretOfNode, {.sent = sent, .id = id});
    };
    EXPECT_EQ(of("Bearer key1", "acme"), of("bearer  key2", "acme"));
    const std::set<std::string> others{
        of("Bearer key1", "acme"), of("Bearer key1", "bee"), of("Bearer key1", ""),
        of("Bearer key2", ""),     of("Bearer acme", ""),    field_substitute({}, {"", "acme"}),
    };
    EXPECT_EQ(others.size(), 6U);
}

TEST(FieldSubstitute, HasTheSchemeAndNothingElseOfTheValue) {
    const auto of = [](std::string_view sent) {
        return field_substitute(kSecretOfNode, {.sent = sent, .id = {}});
    };
    EXPECT_EQ(of("bEaReR key").substr(0, 8), "Bearer *");
    EXPECT_EQ(of("basic a2V5").substr(0, 7), "Basic *");
    EXPECT_EQ(of("Bearer key").size(), 8U + 32U);
    for (const auto* sent : {"key", "key of two words", "Bearer", "", "Basic\tkey"}) {
        const auto text = of(sent);
        EXPECT_EQ(text.size(), 33U);
        EXPECT_EQ(text.front(), '*');
        EXPECT_FALSE(is_b64token(text));
    }
    EXPECT_FALSE(is_b64token(of("Bearer key").substr(7)));
}

}  // namespace

}  // namespace tollgate
