#include "module/cli/configuration/conf_reader.hpp"

#include <gtest/gtest.h>

#include "module/text/parse_error.hpp"

namespace tollgate::cli {
namespace {

using End = ConfDirective::End;
using ConfWords = std::vector<std::string>;

ConfWords words_in(std::string_view text) {
    return ConfReader(text).next().words;
}

std::string refusal_of(std::string_view text) {
    ConfReader reader(text);
    try {
        while (reader.next().end != End::kTextEnd) {
        }
    } catch (const ParseError& error) {
        return std::to_string(reader.line()) + ": " + error.what();
    }
    return "";
}

TEST(ConfReader, ReadsDirectivesAndBlocks) {
    ConfReader reader("a b;\nc { d\te ; }\n");
    auto directive = reader.next();
    EXPECT_EQ(directive.words, (ConfWords{"a", "b"}));
    EXPECT_EQ(directive.end, End::kSemicolon);
    EXPECT_EQ(reader.line(), 1U);
    directive = reader.next();
    EXPECT_EQ(directive.words, ConfWords{"c"});
    EXPECT_EQ(directive.end, End::kBlockStart);
    EXPECT_EQ(reader.line(), 2U);
    EXPECT_EQ(reader.next().words, (ConfWords{"d", "e"}));
    EXPECT_EQ(reader.next().end, End::kBlockEnd);
    EXPECT_EQ(reader.next().end, End::kTextEnd);
    EXPECT_EQ(reader.line(), 3U);
}

TEST(ConfReader, ReadsWordsAsNginxDoes) {
    EXPECT_EQ(words_in("a{"), ConfWords{"a"});
    EXPECT_EQ(words_in("\"a b\" 'c;{}# d';"), (ConfWords{"a b", "c;{}# d"}));
    EXPECT_EQ(words_in("\"\" '';"), (ConfWords{"", ""}));
    EXPECT_EQ(words_in(R"("a\"b" 'a"b' a\"b a"b";)"),
              (ConfWords{"a\"b", "a\"b", "a\"b", "a\"b\""}));
    EXPECT_EQ(words_in(R"(a\;b \{ a\ b "a\\b" a\tb\n "\r" \x;)"),
              (ConfWords{"a\\;b", "\\{", "a\\ b", "a\\b", "a\tb\n", "\r", "\\x"}));
    EXPECT_EQ(words_in("${a}b $a;"), (ConfWords{"${a}b", "$a"}));
    EXPECT_EQ(words_in("a}b c#d;"), (ConfWords{"a}b", "c#d"}));
    EXPECT_EQ(words_in("\"a\")b;"), (ConfWords{"a", ")b"}));
    EXPECT_EQ(words_in("a\r\n  b\n;"), (ConfWords{"a", "b"}));
    EXPECT_EQ(words_in("\"a\nb\";"), ConfWords{"a\nb"});
}

TEST(ConfReader, SkipsComments) {
    EXPECT_EQ(words_in("# a; b {\n a # \"b\n c; # d"), (ConfWords{"a", "c"}));
    EXPECT_EQ(refusal_of("a; # the end"), "");
    EXPECT_EQ(refusal_of(" \n\t# the end\n"), "");
}

TEST(ConfReader, RefusesWhatNginxRefuses) {
    const std::string end = "unexpected end of file, expecting \";\" or \"}\"";
    EXPECT_EQ(refusal_of("a\nb"), "2: " + end);
    EXPECT_EQ(refusal_of("a b "), "1: " + end);
    EXPECT_EQ(refusal_of("\"a;"), "1: " + end);
    EXPECT_EQ(refusal_of("a \\"), "1: " + end);
    EXPECT_EQ(refusal_of("a \"b\""), "1: " + end);
    EXPECT_EQ(refusal_of("a;;"), "1: unexpected \";\"");
    EXPECT_EQ(refusal_of("\n{"), "2: unexpected \"{\"");
    EXPECT_EQ(refusal_of("a }"), "1: unexpected \"}\"");
    EXPECT_EQ(refusal_of("\"a\"b;"), "1: unexpected \"b\"");
    EXPECT_EQ(refusal_of("'a'#b;"), "1: unexpected \"#\"");
}

}  // namespace
}  // namespace tollgate::cli
