#include "module/body/json_pointer.hpp"

#include <gtest/gtest.h>

#include <array>

#include "module/text/parse_error.hpp"

namespace tollgate::body {
namespace {

std::vector<std::string> names_of(std::string_view pointer) {
    std::vector<std::string> names;
    for (const ReferenceToken& token : parse_json_pointer(pointer).tokens) {
        names.push_back(token.name);
    }
    return names;
}

using Names = std::vector<std::string>;

TEST(JsonPointer, ConsistsOfNames) {
    EXPECT_EQ(names_of("/usage/total_tokens"), (Names{"usage", "total_tokens"}));
    EXPECT_EQ(names_of("/"), Names{""});
    EXPECT_EQ(names_of("//a/"), (Names{"", "a", ""}));
}

TEST(JsonPointer, DecodesEscapes) {
    EXPECT_EQ(names_of("/a~1b/m~0n/~01"), (Names{"a/b", "m~n", "~1"}));
}

TEST(JsonPointer, HasIndicesWithoutLeadingZeros) {
    const auto index = [](std::string_view text) {
        return parse_json_pointer(text).tokens[0].index;
    };
    EXPECT_EQ(index("/0"), 0U);
    EXPECT_EQ(index("/10"), 10U);
    for (const auto* text : {"/01", "/-", "/-1", "/+1", "/1a", "/", "/99999999999999999999"}) {
        EXPECT_FALSE(index(text)) << text;
    }
}

TEST(JsonPointer, BeginsWithASlash) {
    for (const auto* text : {"", "a", "a/b", "$.a", "#/a"}) {
        EXPECT_THROW(parse_json_pointer(text), ParseError) << text;
    }
}

TEST(JsonPointer, HasOnlyTwoEscapes) {
    for (const auto* text : {"/~", "/~2", "/a~/b", "/a/~~0"}) {
        EXPECT_THROW(parse_json_pointer(text), ParseError) << text;
    }
}

TEST(JsonPointer, KeepsItsBounds) {
    EXPECT_EQ(names_of("/" + std::string(kLongestName, 'a'))[0].size(), kLongestName);
    EXPECT_THROW(parse_json_pointer("/" + std::string(kLongestName + 1, 'a')), ParseError);
    EXPECT_EQ(names_of(std::string(kMostTokens, '/')).size(), kMostTokens);
    EXPECT_THROW(parse_json_pointer(std::string(kMostTokens + 1, '/')), ParseError);
}

TEST(JsonPointer, IsUnique) {
    EXPECT_EQ(parse_json_pointers(std::array<std::string_view, 2>{"/a", "/b"}).size(), 2U);
    EXPECT_THROW(parse_json_pointers(std::array<std::string_view, 3>{"/a", "/b", "/a"}),
                 ParseError);
}

TEST(JsonPointer, IsOneOfAtMost16) {
    std::vector<std::string> texts;
    for (std::size_t i = 0; i <= kMostPointers; ++i) {
        texts.push_back("/" + std::to_string(i));
    }
    const std::vector<std::string_view> views(texts.begin(), texts.end());
    EXPECT_EQ(parse_json_pointers(std::span(views).first(kMostPointers)).size(), kMostPointers);
    EXPECT_THROW(parse_json_pointers(views), ParseError);
}

}  // namespace
}  // namespace tollgate::body
