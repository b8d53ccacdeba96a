#include "module/key/meta.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>

#include "module/text/parse_error.hpp"

namespace tollgate {
namespace {

using namespace std::string_literals;

std::string canonical(std::string_view json) {
    return write_meta(parse_meta(json));
}

std::string members(int number) {
    std::string json = "{";
    for (int i = 0; i < number; ++i) {
        json += (i == 0 ? "\"m" : ",\"m") + std::to_string(i) + "\":1";
    }
    return json + "}";
}

TEST(MetaName, IsAPartOfAVariable) {
    EXPECT_TRUE(is_valid_meta_name("a"));
    EXPECT_TRUE(is_valid_meta_name("customer_id2"));
    EXPECT_TRUE(is_valid_meta_name(std::string(32, 'x')));
    for (const auto& name :
         {""s, std::string(33, 'x'), "A"s, "a-b"s, "a.b"s, "a b"s, "\xc3\xa9"s, "a\0"s}) {
        EXPECT_FALSE(is_valid_meta_name(name)) << name;
    }
}

TEST(Meta, HasACanonicalForm) {
    EXPECT_EQ(canonical("{}"), "");
    EXPECT_EQ(canonical(R"( { "seats" : 5 , "customer" : "c \u0022\u00e9\"" , "beta":true} )"),
              "{\"beta\":true,\"customer\":\"c \\\"\xc3\xa9\\\"\",\"seats\":5}");
    EXPECT_EQ(canonical(R"({"a":-9007199254740991,"b":9007199254740991,"c":0.5,"d":1e2,"e":""})"),
              R"({"a":-9007199254740991,"b":9007199254740991,"c":0.5,"d":100,"e":""})");
}

// A gateway takes a record whose meta it cannot read for a malformed one.
TEST(Meta, IsReadAsItWasWritten) {
    EXPECT_EQ(canonical(R"({"a":1.2345678901234568e18,"b":9007199254740992.0,"c":-1e300})"),
              R"({"a":1.2345678901234568e+18,"b":9.007199254740992e+15,"c":-1e+300})");
    EXPECT_EQ(canonical(R"({"a":-0.0,"b":-0,"c":-1e-999})"), R"({"a":0,"b":0,"c":0})");
    for (const auto* json :
         {R"({"a":1.2345678901234568e18})", R"({"a":-9007199254740992.0})",
          R"({"a":9007199254740991.0})", R"({"a":1e20})", R"({"a":-0.0})", R"({"a":5e-324})"}) {
        EXPECT_EQ(canonical(canonical(json)), canonical(json)) << json;
    }
}

TEST(Meta, RefusesOtherValues) {
    for (const auto* json : {"",
                             " ",
                             "5",
                             "null",
                             "[]",
                             "\"a\"",
                             "{",
                             "{}}",
                             "{\"a\":1,}",
                             "{\"a\":null}",
                             "{\"a\":[]}",
                             "{\"a\":{}}",
                             "{\"a\":{\"b\":1}}",
                             "{\"a\":1e999}",
                             "{\"a\":9007199254740992}",
                             "{\"a\":-9007199254740992}",
                             "{\"a\":18446744073709551615}",
                             "{\"a\":1,\"a\":2}",
                             "{\"A\":1}",
                             "{\"\":1}",
                             "{\"a\":\"\\n\"}",
                             "{\"a\":\"\\u007f\"}",
                             "{\"a\":\"\\u0000\"}",
                             "{\"a\":\"\xff\"}",
                             "{\"a\":\"\\ud800\"}",
                             "{a:1}"}) {
        EXPECT_THROW(parse_meta(json), ParseError) << json;
    }
}

TEST(Meta, IsSmall) {
    EXPECT_EQ(parse_meta(members(16)).size(), 16);
    EXPECT_THROW(parse_meta(members(17)), ParseError);
    const auto with = [](std::size_t bytes) {
        return "{\"a\":\"" + std::string(bytes, 'x') + "\"}";
    };
    EXPECT_EQ(canonical(with(504)).size(), kLongestMeta);
    EXPECT_THROW(parse_meta(with(505)), ParseError);
    EXPECT_EQ(canonical("{\"a\":" + std::string(1000, ' ') + "1}"), "{\"a\":1}");
    EXPECT_THROW(parse_meta("{\"a\":" + std::string(10'000, ' ') + "1}"), ParseError);
}

TEST(Meta, IsNotWrittenIfItIsInvalid) {
    EXPECT_THROW(write_meta({{"A", true}}), ParseError);
    EXPECT_THROW(write_meta({{"a", "\n"s}}), ParseError);
    EXPECT_THROW(write_meta({{"a", std::numeric_limits<double>::quiet_NaN()}}), ParseError);
    EXPECT_THROW(write_meta({{"a", std::int64_t{1} << 53U}}), ParseError);
}

TEST(MetaValue, IsParsedAlone) {
    EXPECT_EQ(parse_meta_value("5"), MetaValue(std::int64_t{5}));
    EXPECT_EQ(parse_meta_value("false"), MetaValue(false));
    EXPECT_EQ(parse_meta_value("0.25"), MetaValue(0.25));
    EXPECT_EQ(parse_meta_value("\"5\""), MetaValue("5"s));
    for (const auto* json : {"", "null", "{}", "{\"\":1}", "[1]", "05", "a", "5 5", "\"\\n\""}) {
        EXPECT_EQ(parse_meta_value(json), std::nullopt) << json;
    }
}

TEST(MetaValue, HasATextWithoutQuotes) {
    EXPECT_EQ(meta_text("a \"b\""s), "a \"b\"");
    EXPECT_EQ(meta_text(std::int64_t{-5}), "-5");
    EXPECT_EQ(meta_text(0.25), "0.25");
    EXPECT_EQ(meta_text(true), "true");
}

}  // namespace
}  // namespace tollgate
