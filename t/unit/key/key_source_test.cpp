#include "module/key/key_source.hpp"

#include <gtest/gtest.h>

#include <string>

#include "module/text/parse_error.hpp"

namespace tollgate {
namespace {

TEST(KeySource, IsTheBearerTokenOrAField) {
    const KeySource bearer = parse_key_source("bearer");
    EXPECT_TRUE(bearer.bearer);
    EXPECT_EQ(bearer.field, "authorization");
    EXPECT_EQ(field_name(bearer), "Authorization");
    const KeySource header = parse_key_source("header:X-API_Key2");
    EXPECT_FALSE(header.bearer);
    EXPECT_EQ(header.field, "x-api_key2");
    EXPECT_EQ(field_name(header), "X-API_Key2");
    EXPECT_EQ(header.name, "header:X-API_Key2");
}

TEST(KeySource, RefusesOtherTexts) {
    for (const auto& text :
         {std::string(), std::string("Bearer"), std::string("header"), std::string("header:"),
          std::string("header:a b"), std::string("header:a.b"), std::string("header:a:"),
          std::string("header:$name"), std::string("query:key"),
          "header:" + std::string(65, 'x')}) {
        EXPECT_THROW(parse_key_source(text), ParseError) << text;
    }
    EXPECT_EQ(parse_key_source("header:" + std::string(64, 'x')).field, std::string(64, 'x'));
}

}  // namespace
}  // namespace tollgate
