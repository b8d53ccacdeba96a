#include "module/key/scopes.hpp"

#include <gtest/gtest.h>

#include <string>

#include "module/text/parse_error.hpp"

namespace tollgate {
namespace {

using namespace std::string_literals;

TEST(Scope, TakesThePrintableCharactersOfRfc6749) {
    EXPECT_TRUE(is_valid_scope("pets:read"));
    EXPECT_TRUE(is_valid_scope("https://example.com/a?b#c[]!~"));
    EXPECT_TRUE(is_valid_scope(std::string(256, 'x')));
}

TEST(Scope, RefusesCharactersThatEndItInAChallenge) {
    EXPECT_FALSE(is_valid_scope(""));
    EXPECT_FALSE(is_valid_scope(std::string(257, 'x')));
    for (const auto& text :
         {"a b"s, "a\"b"s, "a\\b"s, "a\tb"s, "a\nb"s, "a\0b"s, "a\x7f"s, "\xc3\xa9"s}) {
        EXPECT_FALSE(is_valid_scope(text)) << text;
    }
}

TEST(Scopes, HaveACanonicalForm) {
    EXPECT_EQ(parse_scopes(""), "");
    EXPECT_EQ(parse_scopes("   "), "");
    EXPECT_EQ(parse_scopes("a"), "a");
    EXPECT_EQ(parse_scopes("  write read  admin read "), "admin read write");
    EXPECT_EQ(parse_scopes(std::string(256, 'x')), std::string(256, 'x'));
}

TEST(Scopes, RefuseInvalidTokensAndLongLists) {
    EXPECT_THROW(parse_scopes("a\"b"), ParseError);
    EXPECT_THROW(parse_scopes("a\tb"), ParseError);
    EXPECT_THROW(parse_scopes(std::string(256, 'x') + " y"), ParseError);
}

TEST(Scopes, ContainAllThatAreRequired) {
    EXPECT_TRUE(contains_scopes("", ""));
    EXPECT_TRUE(contains_scopes("a b c", ""));
    EXPECT_TRUE(contains_scopes("a b c", "a"));
    EXPECT_TRUE(contains_scopes("a b c", "b"));
    EXPECT_TRUE(contains_scopes("a b c", "a c"));
    EXPECT_TRUE(contains_scopes("a b c", "a b c"));
}

TEST(Scopes, DoNotContainOthers) {
    EXPECT_FALSE(contains_scopes("", "a"));
    EXPECT_FALSE(contains_scopes("a b c", "d"));
    EXPECT_FALSE(contains_scopes("a b c", "a d"));
    EXPECT_FALSE(contains_scopes("b c", "a b"));
    EXPECT_FALSE(contains_scopes("admin", "adm"));
    EXPECT_FALSE(contains_scopes("adm", "admin"));
    EXPECT_FALSE(contains_scopes("pets:read", "pets"));
}

}  // namespace
}  // namespace tollgate
