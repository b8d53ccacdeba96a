#include "module/body/value_reader.hpp"

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <utility>
#include <vector>

namespace tollgate::body {
namespace {

/// Reads a body in pieces of so many bytes. Returns the value at the first pointer that has one.
std::string value_in_pieces(Format format, const std::vector<JsonPointer>& pointers,
                            std::string_view text, std::size_t size) {
    ValueReader reader(pointers, format);
    for (std::size_t i = 0; i < text.size(); i += size) {
        reader.read(text.substr(i, size));
    }
    return std::string(reader.first_of(0, pointers.size()));
}

/// The value, which must not depend on the pieces.
std::string value_in(Format format, std::initializer_list<std::string_view> texts,
                     std::string_view text) {
    const auto pointers = parse_json_pointers({texts.begin(), texts.size()});
    std::string value = value_in_pieces(format, pointers, text, text.size() + 1);
    for (const std::size_t size : {1U, 2U, 3U, 7U, 64U, 1000U}) {
        EXPECT_EQ(value_in_pieces(format, pointers, text, size), value)
            << size << " of " << text.substr(0, 100);
    }
    return value;
}

std::string in_json(std::string_view text,
                    std::initializer_list<std::string_view> pointers = {"/u/t"}) {
    return value_in(Format::kJson, pointers, text);
}

std::string in_events(std::string_view text,
                      std::initializer_list<std::string_view> pointers = {"/t"}) {
    return value_in(Format::kEventStream, pointers, text);
}

TEST(Format, IsThatOfTheMediaType) {
    for (const auto* type : {"application/json", "Application/JSON; charset=utf-8",
                             "application/problem+json", "application/json;x=y"}) {
        EXPECT_EQ(format_of(type), Format::kJson) << type;
    }
    for (const auto* type : {"text/event-stream", "text/event-stream;charset=utf-8"}) {
        EXPECT_EQ(format_of(type), Format::kEventStream) << type;
    }
    for (const auto* type : {"", "text/html", "application/jsonl", "+json", "text/event-streams",
                             "application/x-ndjson", "text/html; a=application/json"}) {
        EXPECT_EQ(format_of(type), std::nullopt) << type;
    }
}

TEST(ValueReader, IsANumberOfADocument) {
    EXPECT_EQ(in_json(R"({"id":"x","u":{"p":1,"t":42},"o":[{"u":{"t":7}}]})"), "42");
    EXPECT_EQ(in_json("\xef\xbb\xbf {\"u\" : {\"t\" : 42}}\r\n"), "42");
    EXPECT_EQ(in_json(R"({"u":{"t":0}})"), "0");
    EXPECT_EQ(in_json(R"({"t":1,"v":{"t":2},"u":3})"), "");
    EXPECT_EQ(in_json("{}"), "");
    EXPECT_EQ(in_json("[]"), "");
    EXPECT_EQ(in_json(""), "");
}

TEST(ValueReader, IsThatOfTheFirstPointerThatHasOne) {
    const auto* text = R"({"usage":{"in":10,"out":5,"cached":{"read":3}},"x":null})";
    EXPECT_EQ(in_json(text, {"/usage/in", "/usage/out"}), "10");
    EXPECT_EQ(in_json(text, {"/none", "/x", "/usage/cached", "/usage/cached/read", "/usage/in"}),
              "3");
    EXPECT_EQ(in_json(text, {"/usage", "/none"}), "");
}

TEST(ValueReader, KeepsTheValuesOfEachPointer) {
    const auto pointers = parse_json_pointers(std::array<std::string_view, 3>{"/a", "/b", "/c"});
    ValueReader reader(pointers, Format::kJson);
    reader.read(R"({"c":"three","a":1})");
    EXPECT_EQ(reader.first_of(0, 1), "1");
    EXPECT_EQ(reader.first_of(1, 1), "");
    EXPECT_EQ(reader.first_of(1, 2), "three");
}

TEST(ValueReader, IsInArrays) {
    const auto* text = R"([7,[1,2,[3]],{"a":[10,{"b":20}],"1":5}])";
    EXPECT_EQ(in_json(text, {"/0"}), "7");
    EXPECT_EQ(in_json(text, {"/1/1"}), "2");
    EXPECT_EQ(in_json(text, {"/1/2/0"}), "3");
    EXPECT_EQ(in_json(text, {"/2/a/1/b"}), "20");
    EXPECT_EQ(in_json(text, {"/2/1"}), "5");
    EXPECT_EQ(in_json(text, {"/3", "/1/3", "/01", "/-"}), "");
    EXPECT_EQ(in_json(R"([[],{},"x",null,true,4])", {"/5"}), "4");
}

TEST(ValueReader, IsUnderAnyName) {
    EXPECT_EQ(in_json(R"({"a/b":{"m~n":{"":3}}})", {"/a~1b/m~0n/"}), "3");
    EXPECT_EQ(in_json(R"({"\u0061\n\"\\":3})", {"/a\n\"\\"}), "3");
    EXPECT_EQ(in_json(R"({"\ud83d\ude00":3})", {"/\xf0\x9f\x98\x80"}), "3");
    const std::string longest(kLongestName, 'a');
    std::string escaped;
    for (std::size_t i = 0; i < kLongestName; ++i) {
        escaped += "\\u0061";
    }
    EXPECT_EQ(in_json("{\"" + longest + "\":3}", {"/" + longest}), "3");
    EXPECT_EQ(in_json("{\"" + escaped + "\":3}", {"/" + longest}), "3");
    EXPECT_EQ(in_json("{\"" + escaped + "\\u0061\":3}", {"/" + longest}), "");
    EXPECT_EQ(in_json("{\"" + longest + std::string(5000, 'b') + "\":3}", {"/" + longest}), "");
}

/// What is shown of a value.
std::string shown(const std::string& text) {
    return in_json("{\"u\":{\"t\":" + text + "}}");
}

TEST(ValueReader, IsANumberWithoutAnExponent) {
    const std::string most = "1" + std::string(Scalar::kMostDigits, '0');
    const std::vector<std::pair<std::string, std::string>> cases{
        {"9223372036854775808", "9223372036854775808"},
        {"0", "0"},
        {"-0.0", "0"},
        {"12.0", "12"},
        {"-1", "-1"},
        {"1.5", "1.5"},
        {"0.0050", "0.005"},
        {"1e3", "1000"},
        {"1.5E+2", "150"},
        {"150e-1", "15"},
        {"12e-3", "0.012"},
        {"0e999999999999", "0"},
        {"1e-999999999999", "0"},
        {"1e39", "1" + std::string(39, '0')},
        {"1e40", most},
        {"12345e99999999999", most},
        {"-1e41", "-" + most},
        {std::string(200, '9'), most},
        {"0." + std::string(39, '0') + "12", "0." + std::string(39, '0') + "1"},
        {"0." + std::string(40, '0') + "12", "0"},
    };
    for (const auto& [text, expected] : cases) {
        EXPECT_EQ(shown(text), expected) << text;
    }
}

TEST(ValueReader, IsAStringOrATruthValue) {
    EXPECT_EQ(shown(R"("example-4")"), "example-4");
    EXPECT_EQ(shown(R"("\u00e9\/\"")"), "\xc3\xa9/\"");
    EXPECT_EQ(shown("true"), "true");
    EXPECT_EQ(shown("false"), "false");
    const std::string longest(Scalar::kLongest, 'a');
    EXPECT_EQ(shown('"' + longest + '"'), longest);
    for (const auto& text :
         {'"' + longest + "a\"", '"' + std::string(5000, 'a') + '"', std::string(R"("a\r\nb")"),
          std::string(R"("\u0000")"), std::string(R"("\u007f")"), std::string(R"("")"),
          std::string("null"), std::string("[12]"), std::string("{}")}) {
        EXPECT_EQ(shown(text), "") << text.substr(0, 200);
    }
}

TEST(ValueReader, IsTheLastOfMembersWithOneName) {
    EXPECT_EQ(in_json(R"({"u":{"t":1,"t":2}})"), "2");
    EXPECT_EQ(in_json(R"({"u":{"t":1},"u":{"t":2}})"), "2");
    EXPECT_EQ(in_json(R"({"u":{"t":1},"u":{}})"), "");
    EXPECT_EQ(in_json(R"({"u":{"t":1,"t":null}})"), "");
}

TEST(ValueReader, IsEmptyIfJsonIsMalformed) {
    for (const auto* text :
         {R"({"u":{"t":1})", R"({"u":{"t":1}}})", R"({"u":{"t":1}}x)", R"({"u":{"t":1}}1)",
          R"({"u":{"t":1}}tru)", R"({"u":{"t":1}}"a)", R"({"u":{"t":1}}{})", R"({"u":{"t":1},})",
          R"({'u':{"t":1}})", R"({"u":{"t":01}})", R"({"u":{"t":+1}})", R"({"u":{"t":1}]})",
          "{\"u\":{\"t\":1},\"a\":\"\x01\"}", R"({"u":{"t":1},"a":"\x"})", R"({"u":{"t":1},/**/})",
          "\xef\xbb{\"u\":{\"t\":1}}", "\xff{\"u\":{\"t\":1}}", "<html>",
          "data: {\"u\":{\"t\":1}}"}) {
        EXPECT_EQ(in_json(text), "") << text;
    }
}

TEST(ValueReader, DoesNotCheckTheBytesOfStrings) {
    EXPECT_EQ(in_json("{\"u\":{\"t\":1},\"a\":\"\xff\xc0\x80\"}"), "1");
}

TEST(ValueReader, IsNotThereBeforeTheEndOfADocument) {
    const auto pointers = parse_json_pointers(std::array<std::string_view, 1>{"/t"});
    ValueReader reader(pointers, Format::kJson);
    reader.read(R"({"t":1)");
    EXPECT_EQ(reader.first_of(0, 1), "");
    reader.read("}");
    EXPECT_EQ(reader.first_of(0, 1), "1");
    reader.give_up();
    EXPECT_EQ(reader.first_of(0, 1), "");
}

TEST(ValueReader, IsInTheLastEventThatHasIt) {
    EXPECT_EQ(in_events("data: {\"t\":1}\n\ndata: {\"t\":2}\n\ndata: {\"x\":3}\n\n"), "2");
    EXPECT_EQ(in_events("data: {\"t\":1}\n\ndata: {\"t\":null}\n\ndata: [DONE]\n\n"), "1");
    EXPECT_EQ(in_events("data: {\"t\":1}\n\ndata: {\"t\":2\n\ndata: {\"t\":3}}\n\n"), "1");
    EXPECT_EQ(in_events("data: hello\n\n: comment\n\nevent: x\nid: 1\n\n"), "");
}

TEST(ValueReader, AccumulatesOverEvents) {
    const auto* events =
        "event: message_start\ndata: {\"m\":{\"in\":25,\"out\":1}}\n\n"
        "event: message_delta\ndata: {\"u\":{\"out\":7}}\n\n"
        "event: message_delta\ndata: {\"u\":{\"out\":15}}\n\n";
    EXPECT_EQ(in_events(events, {"/m/in"}), "25");
    EXPECT_EQ(in_events(events, {"/u/in", "/u/out", "/m/out"}), "15");
}

TEST(ValueReader, ReadsAllLineEnds) {
    EXPECT_EQ(in_events("data: {\"t\":1}\r\n\r\ndata: {\"t\":2}\r\n\r\n"), "2");
    EXPECT_EQ(in_events("data: {\"t\":1}\r\rdata: {\"t\":2}\r\r"), "2");
    EXPECT_EQ(in_events("data: {\"t\":1}\n\rdata: {\"t\":2}\r\n\ndata: {\"t\":\ndata: 3}\r\n\n"),
              "3");
}

TEST(ValueReader, ReadsSeveralLinesOfData) {
    EXPECT_EQ(in_events("data: {\"t\":\ndata: 4\nid: 7\ndata:2}\n\n"), "");
    EXPECT_EQ(in_events("data: {\"t\":\ndata: 42\n: comment\ndata:}\n\n"), "42");
    EXPECT_EQ(in_events("data\ndata:{\"t\":42}\ndata\n\n"), "42");
    EXPECT_EQ(in_events("data: {\"t\":1}\ndata: {\"t\":2}\n\n"), "");
}

TEST(ValueReader, ReadsOnlyTheFieldData) {
    for (const auto* line :
         {"Data: {\"t\":1}", " data: {\"t\":1}", "datas: {\"t\":1}", "dat: {\"t\":1}",
          ":data: {\"t\":1}", "data {\"t\":1}", "event: {\"t\":1}", "{\"t\":1}"}) {
        EXPECT_EQ(in_events(std::string(line) + "\n\n"), "") << line;
    }
    EXPECT_EQ(in_events("\xef\xbb\xbf"
                        "data:{\"t\":1}\n\n"),
              "1");
    EXPECT_EQ(in_events("\xef\xbb"
                        "data:{\"t\":1}\n\n"),
              "");
}

TEST(ValueReader, IsInALastEventWithoutALineEnd) {
    EXPECT_EQ(in_events("data: {\"t\":1}\n\ndata: {\"t\":2}\n"), "2");
    EXPECT_EQ(in_events("data: {\"t\":1}\n\ndata: {\"t\":2}"), "2");
    EXPECT_EQ(in_events("data: {\"t\":1}\n\ndata: {\"t\":2"), "1");
}

/// A text, and the last of the parser's memory that it may take.
void expect_bounded(const std::string& part, std::size_t parts,
                    std::string_view begin = "{\"a\":") {
    const auto pointers = parse_json_pointers(std::array<std::string_view, 1>{"/t"});
    ValueReader reader(pointers, Format::kJson);
    reader.read(begin);
    for (std::size_t i = 0; i < parts; ++i) {
        reader.read(part);
    }
    EXPECT_LT(reader.parser_memory_used(), 6144U) << part.substr(0, 20);
}

TEST(ValueReader, NeedsTheSameMemoryForAnyBody) {
    constexpr std::size_t kParts = 10000;
    expect_bounded(std::string(999, 'x'), kParts, "{\"a\":\"");
    expect_bounded(std::string(999, 'x'), kParts, "{\"");
    expect_bounded(std::string(999, '\\'), kParts, "{\"");
    expect_bounded("\\u0061", kParts, "{\"");
    expect_bounded(std::string(999, '1'), kParts);
    expect_bounded(std::string(999, ' '), kParts);
    expect_bounded(std::string(999, '['), kParts);
    expect_bounded("{\"a\":", kParts);
    expect_bounded("{\"a\":\"", kParts);
    expect_bounded("\"a\\\\\",", kParts, "[");
    expect_bounded(std::string(1030, 'a') + "\":1,\"", kParts, "{\"");
}

TEST(ValueReader, NeedsTheSameMemoryForAnyNumberOfEvents) {
    const auto pointers = parse_json_pointers(std::array<std::string_view, 1>{"/t"});
    ValueReader reader(pointers, Format::kEventStream);
    reader.read("data: {\"t\":1}\n\n");
    const std::size_t used = reader.parser_memory_used();
    for (int i = 0; i < 10000; ++i) {
        reader.read("data: {\"t\":2}\n\n");
    }
    EXPECT_EQ(reader.first_of(0, 1), "2");
    EXPECT_EQ(reader.parser_memory_used(), used);
}

TEST(ValueReader, FindsWhatFollowsALongString) {
    for (const std::size_t size : {1020U, 1023U, 1024U, 1025U, 5000U, 100000U}) {
        for (const auto* last : {"", "\\\"", "\\\\", "\\\\\\\"", "\\u0022", "\\\\u"}) {
            const std::string text = "{\"a\":\"" + std::string(size, 'x') + last +
                                     std::string(size % 7, 'y') + last + "\",\"t\":3}";
            EXPECT_EQ(in_json(text, {"/t"}), "3") << size << last;
        }
    }
    std::string quotes;
    for (int i = 0; i < 5000; ++i) {
        quotes += i % 3 == 0 ? "\\\\" : "\\\"";
    }
    EXPECT_EQ(in_json("{\"a\":\"" + quotes + "\",\"t\":3}", {"/t"}), "3");
}

TEST(ValueReader, HasBoundsForNumbersAndDepth) {
    const auto nested = [](std::size_t depth) {
        return "{\"a\":" + std::string(depth, '[') + std::string(depth, ']') + ",\"t\":3}";
    };
    EXPECT_EQ(in_json(nested(JsonParser::kMostDepth - 1), {"/t"}), "3");
    EXPECT_EQ(in_json(nested(JsonParser::kMostDepth), {"/t"}), "");
    const auto digits = [](std::size_t count) {
        return "{\"a\":" + std::string(count, '1') + ",\"t\":3}";
    };
    EXPECT_EQ(in_json(digits(TokenCutter::kLongestNumber), {"/t"}), "3");
    EXPECT_EQ(in_json(digits(TokenCutter::kLongestNumber + 1), {"/t"}), "");
}

TEST(ValueReader, TakesAllOfItsMemoryAtMost) {
    // The deepest text, with the longest token in pieces, decoded, at its end.
    std::string name;
    while (name.size() < TokenCutter::kKeptBytes - 6) {
        name += "\\n";
    }
    std::string text;
    for (std::size_t i = 0; i < JsonParser::kMostDepth; ++i) {
        text += "{\"" + name + "\\u0061\":";
    }
    const auto pointers = parse_json_pointers(std::array<std::string_view, 1>{"/t"});
    ValueReader reader(pointers, Format::kJson);
    for (const char c : text) {
        reader.read({&c, 1});
    }
    EXPECT_GT(reader.parser_memory_used(), 5000U);
    EXPECT_LT(reader.parser_memory_used(), 6144U);
}

}  // namespace
}  // namespace tollgate::body
