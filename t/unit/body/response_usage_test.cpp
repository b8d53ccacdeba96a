#include "module/body/response_usage.hpp"

#include <gtest/gtest.h>

#include <array>
#include <limits>
#include <string>
#include <vector>

namespace tollgate::body {
namespace {

using Sum = std::optional<std::int64_t>;

/// Reads a body in pieces of so many bytes.
Sum sum_in_pieces(Format format, const std::vector<JsonPointer>& pointers, std::string_view text,
                  std::size_t size) {
    ResponseUsage usage(pointers, format);
    for (std::size_t i = 0; i < text.size(); i += size) {
        usage.read(text.substr(i, size));
    }
    return usage.sum();
}

/// The sum, which must not depend on the pieces.
Sum sum_of(Format format, std::initializer_list<std::string_view> texts, std::string_view text) {
    const auto pointers = parse_json_pointers({texts.begin(), texts.size()});
    const Sum sum = sum_in_pieces(format, pointers, text, text.size() + 1);
    for (const std::size_t size : {1U, 2U, 3U, 7U, 64U, 1000U}) {
        EXPECT_EQ(sum_in_pieces(format, pointers, text, size), sum)
            << size << " of " << text.substr(0, 100);
    }
    return sum;
}

Sum in_json(std::string_view text, std::initializer_list<std::string_view> pointers = {"/u/t"}) {
    return sum_of(Format::kJson, pointers, text);
}

Sum in_events(std::string_view text, std::initializer_list<std::string_view> pointers = {"/t"}) {
    return sum_of(Format::kEventStream, pointers, text);
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

TEST(ResponseUsage, IsANumberOfADocument) {
    EXPECT_EQ(in_json(R"({"id":"x","u":{"p":1,"t":42},"o":[{"u":{"t":7}}]})"), 42);
    EXPECT_EQ(in_json("\xef\xbb\xbf {\"u\" : {\"t\" : 42}}\r\n"), 42);
    EXPECT_EQ(in_json(R"({"u":{"t":0}})"), 0);
    EXPECT_EQ(in_json(R"({"t":1,"v":{"t":2},"u":3})"), std::nullopt);
    EXPECT_EQ(in_json("{}"), std::nullopt);
    EXPECT_EQ(in_json("[]"), std::nullopt);
    EXPECT_EQ(in_json(""), std::nullopt);
}

TEST(ResponseUsage, IsTheSumOfThePointers) {
    const auto* text = R"({"usage":{"in":10,"out":5,"cached":{"read":3}},"x":1})";
    EXPECT_EQ(in_json(text, {"/usage/in", "/usage/out"}), 15);
    EXPECT_EQ(in_json(text, {"/usage/out", "/usage/cached/read", "/none"}), 8);
    EXPECT_EQ(in_json(text, {"/usage", "/none"}), std::nullopt);
    EXPECT_EQ(in_json(R"({"a":9223372036854775807,"b":0})", {"/a", "/b"}),
              std::numeric_limits<std::int64_t>::max());
    EXPECT_EQ(in_json(R"({"a":9223372036854775807,"b":1})", {"/a", "/b"}), std::nullopt);
}

TEST(ResponseUsage, IsInArrays) {
    const auto* text = R"([7,[1,2,[3]],{"a":[10,{"b":20}],"1":5}])";
    EXPECT_EQ(in_json(text, {"/0"}), 7);
    EXPECT_EQ(in_json(text, {"/1/1"}), 2);
    EXPECT_EQ(in_json(text, {"/1/2/0"}), 3);
    EXPECT_EQ(in_json(text, {"/2/a/1/b"}), 20);
    EXPECT_EQ(in_json(text, {"/2/1"}), 5);
    EXPECT_EQ(in_json(text, {"/3", "/1/3", "/01", "/-"}), std::nullopt);
    EXPECT_EQ(in_json(R"([[],{},"x",null,true,4])", {"/5"}), 4);
}

TEST(ResponseUsage, IsUnderAnyName) {
    EXPECT_EQ(in_json(R"({"a/b":{"m~n":{"":3}}})", {"/a~1b/m~0n/"}), 3);
    EXPECT_EQ(in_json(R"({"\u0061\n\"\\":3})", {"/a\n\"\\"}), 3);
    EXPECT_EQ(in_json(R"({"\ud83d\ude00":3})", {"/\xf0\x9f\x98\x80"}), 3);
    const std::string longest(kLongestName, 'a');
    std::string escaped;
    for (std::size_t i = 0; i < kLongestName; ++i) {
        escaped += "\\u0061";
    }
    EXPECT_EQ(in_json("{\"" + longest + "\":3}", {"/" + longest}), 3);
    EXPECT_EQ(in_json("{\"" + escaped + "\":3}", {"/" + longest}), 3);
    EXPECT_EQ(in_json("{\"" + escaped + "\\u0061\":3}", {"/" + longest}), std::nullopt);
    EXPECT_EQ(in_json("{\"" + longest + std::string(5000, 'b') + "\":3}", {"/" + longest}),
              std::nullopt);
}

TEST(ResponseUsage, IsAnUnsignedInteger) {
    const auto value = [](const std::string& text) {
        return in_json("{\"u\":{\"t\":" + text + "}}");
    };
    EXPECT_EQ(value("9223372036854775807"), std::numeric_limits<std::int64_t>::max());
    EXPECT_EQ(value("12.0"), 12);
    for (const auto* text : {"9223372036854775808", "-1", "1.5", "1e3", "\"12\"", "null", "true",
                             "[12]", "{}", "99999999999999999999999999999999"}) {
        EXPECT_EQ(value(text), std::nullopt) << text;
    }
    EXPECT_EQ(in_json(R"({"u":{"t":1.5,"s":2}})", {"/u/t", "/u/s"}), 2);
}

TEST(ResponseUsage, IsTheLastOfMembersWithOneName) {
    EXPECT_EQ(in_json(R"({"u":{"t":1,"t":2}})"), 2);
    EXPECT_EQ(in_json(R"({"u":{"t":1},"u":{"t":2}})"), 2);
    EXPECT_EQ(in_json(R"({"u":{"t":1},"u":{}})"), std::nullopt);
    EXPECT_EQ(in_json(R"({"u":{"t":1,"t":null}})"), std::nullopt);
}

TEST(ResponseUsage, IsEmptyIfJsonIsMalformed) {
    for (const auto* text :
         {R"({"u":{"t":1})", R"({"u":{"t":1}}})", R"({"u":{"t":1}}x)", R"({"u":{"t":1}}1)",
          R"({"u":{"t":1}}tru)", R"({"u":{"t":1}}"a)", R"({"u":{"t":1}}{})", R"({"u":{"t":1},})",
          R"({'u':{"t":1}})", R"({"u":{"t":01}})", R"({"u":{"t":+1}})", R"({"u":{"t":1}]})",
          "{\"u\":{\"t\":1},\"a\":\"\x01\"}", R"({"u":{"t":1},"a":"\x"})", R"({"u":{"t":1},/**/})",
          "\xef\xbb{\"u\":{\"t\":1}}", "\xff{\"u\":{\"t\":1}}", "<html>",
          "data: {\"u\":{\"t\":1}}"}) {
        EXPECT_EQ(in_json(text), std::nullopt) << text;
    }
}

TEST(ResponseUsage, DoesNotCheckTheBytesOfStrings) {
    EXPECT_EQ(in_json("{\"u\":{\"t\":1},\"a\":\"\xff\xc0\x80\"}"), 1);
}

TEST(ResponseUsage, IsNotThereBeforeTheEndOfADocument) {
    const auto pointers = parse_json_pointers(std::array<std::string_view, 1>{"/t"});
    ResponseUsage usage(pointers, Format::kJson);
    usage.read(R"({"t":1)");
    EXPECT_EQ(usage.sum(), std::nullopt);
    usage.read("}");
    EXPECT_EQ(usage.sum(), 1);
    usage.give_up();
    EXPECT_EQ(usage.sum(), std::nullopt);
}

TEST(ResponseUsage, IsInTheLastEventThatHasIt) {
    EXPECT_EQ(in_events("data: {\"t\":1}\n\ndata: {\"t\":2}\n\ndata: {\"x\":3}\n\n"), 2);
    EXPECT_EQ(in_events("data: {\"t\":1}\n\ndata: {\"t\":null}\n\ndata: [DONE]\n\n"), 1);
    EXPECT_EQ(in_events("data: {\"t\":1}\n\ndata: {\"t\":2\n\ndata: {\"t\":3}}\n\n"), 1);
    EXPECT_EQ(in_events("data: hello\n\n: comment\n\nevent: x\nid: 1\n\n"), std::nullopt);
}

TEST(ResponseUsage, AccumulatesOverEvents) {
    EXPECT_EQ(in_events("event: message_start\ndata: {\"m\":{\"in\":25,\"out\":1}}\n\n"
                        "event: message_delta\ndata: {\"u\":{\"out\":7}}\n\n"
                        "event: message_delta\ndata: {\"u\":{\"out\":15}}\n\n",
                        {"/m/in", "/u/out"}),
              40);
}

TEST(ResponseUsage, ReadsAllLineEnds) {
    EXPECT_EQ(in_events("data: {\"t\":1}\r\n\r\ndata: {\"t\":2}\r\n\r\n"), 2);
    EXPECT_EQ(in_events("data: {\"t\":1}\r\rdata: {\"t\":2}\r\r"), 2);
    EXPECT_EQ(in_events("data: {\"t\":1}\n\rdata: {\"t\":2}\r\n\ndata: {\"t\":\ndata: 3}\r\n\n"),
              3);
}

TEST(ResponseUsage, ReadsSeveralLinesOfData) {
    EXPECT_EQ(in_events("data: {\"t\":\ndata: 4\nid: 7\ndata:2}\n\n"), std::nullopt);
    EXPECT_EQ(in_events("data: {\"t\":\ndata: 42\n: comment\ndata:}\n\n"), 42);
    EXPECT_EQ(in_events("data\ndata:{\"t\":42}\ndata\n\n"), 42);
    EXPECT_EQ(in_events("data: {\"t\":1}\ndata: {\"t\":2}\n\n"), std::nullopt);
}

TEST(ResponseUsage, ReadsOnlyTheFieldData) {
    for (const auto* line :
         {"Data: {\"t\":1}", " data: {\"t\":1}", "datas: {\"t\":1}", "dat: {\"t\":1}",
          ":data: {\"t\":1}", "data {\"t\":1}", "event: {\"t\":1}", "{\"t\":1}"}) {
        EXPECT_EQ(in_events(std::string(line) + "\n\n"), std::nullopt) << line;
    }
    EXPECT_EQ(in_events("\xef\xbb\xbf"
                        "data:{\"t\":1}\n\n"),
              1);
    EXPECT_EQ(in_events("\xef\xbb"
                        "data:{\"t\":1}\n\n"),
              std::nullopt);
}

TEST(ResponseUsage, IsInALastEventWithoutALineEnd) {
    EXPECT_EQ(in_events("data: {\"t\":1}\n\ndata: {\"t\":2}\n"), 2);
    EXPECT_EQ(in_events("data: {\"t\":1}\n\ndata: {\"t\":2}"), 2);
    EXPECT_EQ(in_events("data: {\"t\":1}\n\ndata: {\"t\":2"), 1);
}

/// A text, and the last of the parser's memory that it may take.
void expect_bounded(const std::string& part, std::size_t parts,
                    std::string_view begin = "{\"a\":") {
    const auto pointers = parse_json_pointers(std::array<std::string_view, 1>{"/t"});
    ResponseUsage usage(pointers, Format::kJson);
    usage.read(begin);
    for (std::size_t i = 0; i < parts; ++i) {
        usage.read(part);
    }
    EXPECT_LT(usage.parser_memory_used(), 6144U) << part.substr(0, 20);
}

TEST(ResponseUsage, NeedsTheSameMemoryForAnyBody) {
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

TEST(ResponseUsage, NeedsTheSameMemoryForAnyNumberOfEvents) {
    const auto pointers = parse_json_pointers(std::array<std::string_view, 1>{"/t"});
    ResponseUsage usage(pointers, Format::kEventStream);
    usage.read("data: {\"t\":1}\n\n");
    const std::size_t used = usage.parser_memory_used();
    for (int i = 0; i < 10000; ++i) {
        usage.read("data: {\"t\":2}\n\n");
    }
    EXPECT_EQ(usage.sum(), 2);
    EXPECT_EQ(usage.parser_memory_used(), used);
}

TEST(ResponseUsage, FindsWhatFollowsALongString) {
    for (const std::size_t size : {1020U, 1023U, 1024U, 1025U, 5000U, 100000U}) {
        for (const auto* last : {"", "\\\"", "\\\\", "\\\\\\\"", "\\u0022", "\\\\u"}) {
            const std::string text = "{\"a\":\"" + std::string(size, 'x') + last +
                                     std::string(size % 7, 'y') + last + "\",\"t\":3}";
            EXPECT_EQ(in_json(text, {"/t"}), 3) << size << last;
        }
    }
    std::string quotes;
    for (int i = 0; i < 5000; ++i) {
        quotes += i % 3 == 0 ? "\\\\" : "\\\"";
    }
    EXPECT_EQ(in_json("{\"a\":\"" + quotes + "\",\"t\":3}", {"/t"}), 3);
}

TEST(ResponseUsage, HasBoundsForNumbersAndDepth) {
    const auto nested = [](std::size_t depth) {
        return "{\"a\":" + std::string(depth, '[') + std::string(depth, ']') + ",\"t\":3}";
    };
    EXPECT_EQ(in_json(nested(JsonParser::kMostDepth - 1), {"/t"}), 3);
    EXPECT_EQ(in_json(nested(JsonParser::kMostDepth), {"/t"}), std::nullopt);
    const auto digits = [](std::size_t count) {
        return "{\"a\":" + std::string(count, '1') + ",\"t\":3}";
    };
    EXPECT_EQ(in_json(digits(TokenCutter::kLongestNumber), {"/t"}), 3);
    EXPECT_EQ(in_json(digits(TokenCutter::kLongestNumber + 1), {"/t"}), std::nullopt);
}

TEST(ResponseUsage, TakesAllOfItsMemoryAtMost) {
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
    ResponseUsage usage(pointers, Format::kJson);
    for (const char c : text) {
        usage.read({&c, 1});
    }
    EXPECT_GT(usage.parser_memory_used(), 5000U);
    EXPECT_LT(usage.parser_memory_used(), 6144U);
}

}  // namespace
}  // namespace tollgate::body
