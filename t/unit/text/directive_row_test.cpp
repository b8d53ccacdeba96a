#include "module/text/directive_row.hpp"

#include <gtest/gtest.h>

namespace tollgate {
namespace {

using Row = DirectiveRow<void (*)(Words)>;
constexpr Row kRows[] = {{"password", "TEXT", nullptr},
                         {"password_file", "FILE", nullptr},
                         {"sentinel", "MASTER ADDR...", nullptr},
                         {"plan", "NAME RATE...", nullptr, true}};

std::string refusal_of(std::initializer_list<std::vector<std::string_view>> block) {
    std::vector<std::string_view> seen;
    try {
        for (const auto& words : block) {
            find_directive(kRows, "block", words, seen);
        }
    } catch (const ParseError& error) {
        return error.what();
    }
    return "";
}

TEST(DirectiveRow, FindsDirectives) {
    EXPECT_EQ(refusal_of({{"plan", "a", "1r/s"}, {"plan", "b", "1r/s", "2r/m"}, {"password", "x"}}),
              "");
}

TEST(DirectiveRow, RefusesUnknownAndDuplicateDirectives) {
    EXPECT_EQ(refusal_of({{"plans", "a"}}), "unknown directive \"plans\" in \"block\"");
    EXPECT_EQ(refusal_of({{"sentinel", "m", "a"}, {"sentinel", "m", "b"}}),
              "\"sentinel\" directive is duplicate");
    EXPECT_EQ(refusal_of({{"password", "x"}, {"password_file", "y"}}),
              "\"password_file\" directive is duplicate");
    EXPECT_EQ(refusal_of({{"password_file", "y"}, {"password", "x"}}),
              "\"password\" directive is duplicate");
}

TEST(DirectiveRow, CountsArguments) {
    EXPECT_EQ(
        refusal_of({{"password"}}),
        "invalid number of arguments in \"password\" directive: it requires exactly one TEXT");
    EXPECT_EQ(refusal_of({{"password", "x", "y"}}), refusal_of({{"password"}}));
    EXPECT_EQ(refusal_of({{"sentinel", "m"}}),
              "invalid number of arguments in \"sentinel\" directive: it requires MASTER ADDR...");
}

}  // namespace
}  // namespace tollgate
