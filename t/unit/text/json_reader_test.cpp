#include "module/text/json_reader.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace tollgate {
namespace {

using namespace std::string_view_literals;

/// Writes down what it receives. Ends the reading at a text `end`.
class Recorder final : public JsonReceiver {
  public:
    const std::string& parts() const { return parts_; }

    bool null() override { return add("null"); }
    bool boolean(bool value) override { return add(value ? "true" : "false"); }
    bool integer(std::int64_t value) override { return add("i" + std::to_string(value)); }
    bool large_integer(std::uint64_t value) override { return add("l" + std::to_string(value)); }
    bool number(double /*value*/, const std::string& text) override { return add("n" + text); }
    bool string(std::string& value) override { return add("'" + value + "'") && value != "end"; }
    bool start_object() override { return add("{"); }
    bool key(std::string& name) override { return add(name + ":"); }
    bool end_object() override { return add("}"); }
    bool start_array() override { return add("["); }
    bool end_array() override { return add("]"); }
    bool invalid(std::size_t byte) override {
        add("!" + std::to_string(byte));
        return false;
    }

  private:
    bool add(const std::string& part) {
        parts_ += parts_.empty() ? part : " " + part;
        return true;
    }

    std::string parts_;
};

std::string parts_of(std::string_view text, bool is_valid = true) {
    Recorder recorder;
    EXPECT_EQ(read_json(text, recorder), is_valid) << text;
    return recorder.parts();
}

TEST(JsonReader, PassesOnEachPart) {
    EXPECT_EQ(parts_of(R"({"a":null,"b":[true,false,"x\u00e4"],"a":{}})"),
              "{ a: null b: [ true false 'x\xc3\xa4' ] a: { } }");
    EXPECT_EQ(parts_of(" 1 "), "i1");
}

TEST(JsonReader, TellsNumbersApart) {
    EXPECT_EQ(parts_of("[0,-0,-1,9223372036854775807,-9223372036854775808]"),
              "[ i0 i0 i-1 i9223372036854775807 i-9223372036854775808 ]");
    EXPECT_EQ(parts_of("[9223372036854775808,18446744073709551615]"),
              "[ l9223372036854775808 l18446744073709551615 ]");
    EXPECT_EQ(parts_of("[18446744073709551616,-9223372036854775809,1.5,1e2]"),
              "[ n18446744073709551616 n-9223372036854775809 n1.5 n1e2 ]");
    EXPECT_EQ(parts_of("1e999", false), "!5") << "no finite double";
}

TEST(JsonReader, TellsWhereATextIsInvalid) {
    EXPECT_EQ(parts_of("[1,]", false), "[ i1 !4");
    EXPECT_EQ(parts_of("", false), "!1");
    EXPECT_EQ(parts_of("1 2", false), "i1 !3");
    EXPECT_EQ(parts_of("\"\xff\"", false), "!2") << "not UTF-8";
    EXPECT_EQ(parts_of("// no comment\n1", false), "!1");
}

TEST(JsonReader, EndsWhereTheReceiverSaysSo) {
    EXPECT_EQ(parts_of(R"(["a","end","b"])", false), "[ 'a' 'end'");
}

TEST(JsonReader, NeedsNoStackForDeepTexts) {
    constexpr std::size_t kDeep = 1'000'000;
    EXPECT_TRUE(is_json_text(std::string(kDeep, '[') + std::string(kDeep, ']')));
    EXPECT_FALSE(is_json_text(std::string(kDeep, '[')));
}

TEST(JsonReader, AZeroByteIsNoJson) {
    EXPECT_TRUE(is_json_text("{}"));
    EXPECT_FALSE(is_json_text("{}\0"sv));
    EXPECT_FALSE(is_json_text(""));
}

TEST(JsonReader, TextWithoutItsEscapes) {
    EXPECT_EQ(without_json_escapes(R"(a\"b\\\u00e4\n)"), "a\"b\\\xc3\xa4\n");
    EXPECT_EQ(without_json_escapes(""), "");
    EXPECT_EQ(without_json_escapes(R"(\x)"), std::nullopt);
    EXPECT_EQ(without_json_escapes("a\"b"), std::nullopt);
    EXPECT_EQ(without_json_escapes("a\",\"b"), std::nullopt);
}

}  // namespace
}  // namespace tollgate
