#include "module/text/json_writer.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>
#include <optional>

namespace tollgate {
namespace {

std::string json_text(std::string_view text) {
    JsonWriter json;
    json.value(text);
    return std::move(json).take();
}

TEST(JsonWriter, WritesObjectsAndArrays) {
    JsonWriter json;
    json.object([&] {
        json.member("text", "a");
        json.member("number", -5);
        json.member("large", std::numeric_limits<std::uint64_t>::max());
        json.member("half", 0.5);
        json.member("yes", true);
        json.name("nothing");
        json.null();
        json.member("none", std::optional<int>());
        json.member("some", std::optional(7));
        json.member_or_null("empty", "");
        json.array("list", [&] {
            json.value(1);
            json.object([] {});
            json.array([&] { json.value("b"); });
        });
        json.object("inner", [&] { json.member("last", false); });
    });
    EXPECT_EQ(
        std::move(json).take(),
        R"({"text":"a","number":-5,"large":18446744073709551615,"half":0.5,"yes":true,)"
        R"("nothing":null,"none":null,"some":7,"empty":null,"list":[1,{},["b"]],"inner":{"last":false}})");
}

TEST(JsonWriter, WritesLargeNumbersAsNoIntegers) {
    const auto number = [](double value) {
        JsonWriter json;
        json.value(value);
        return std::move(json).take();
    };
    EXPECT_EQ(number(9'007'199'254'740'991), "9007199254740991");
    EXPECT_EQ(number(-9'007'199'254'740'992), "-9.007199254740992e+15");
    EXPECT_EQ(number(1'234'567'890'123'456'768), "1.2345678901234568e+18");
    EXPECT_EQ(number(-0.0), "0");
    EXPECT_EQ(number(-0.5), "-0.5");
}

TEST(JsonWriter, EscapesTextsAsAParserReadsThem) {
    std::string all;
    for (int byte = 0; byte < 0x80; ++byte) {
        all += static_cast<char>(byte);
    }
    all += "\u00e4\u20ac\U0001f600";
    EXPECT_EQ(nlohmann::json::parse(json_text(all)), all);
    EXPECT_EQ(json_text("a\"b\\c\n\x01"), R"("a\"b\\c\n\u0001")");
}

TEST(JsonWriter, ReplacesWhatIsNotUtf8) {
    for (const std::string_view bad :
         {"\x80", "\xff", "\xc0\xaf", "\xc3", "\xe0\x80\x80", "\xed\xa0\x80", "\xf0\x80\x80\x80",
          "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xe2\x82"}) {
        const auto json = nlohmann::json::parse(json_text("a" + std::string(bad) + "b"));
        const auto text = json.get<std::string>();
        EXPECT_TRUE(text.starts_with("a\xef\xbf\xbd") && text.ends_with("b")) << text;
    }
}

}  // namespace
}  // namespace tollgate
