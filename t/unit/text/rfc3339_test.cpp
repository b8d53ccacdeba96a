#include "module/text/rfc3339.hpp"

#include <gtest/gtest.h>

#include "module/text/utf8.hpp"

namespace tollgate {
namespace {

std::string written_again(std::string_view text) {
    const auto time = parse_rfc3339(text);
    return time ? format_time(*time) : "none";
}

TEST(Rfc3339Test, TimesAreReadAndWritten) {
    EXPECT_EQ(written_again("2027-01-02T03:04:05Z"), "2027-01-02T03:04:05Z");
    EXPECT_EQ(written_again("2027-01-02"), "2027-01-02T00:00:00Z");
    EXPECT_EQ(written_again("2027-01-02 03:04:05.999+01:30"), "2027-01-02T01:34:05Z");
    EXPECT_EQ(written_again("2024-02-29"), "2024-02-29T00:00:00Z");
}

TEST(Rfc3339Test, OtherTextsAreNone) {
    for (const auto* text :
         {"", "2027", "2027-13-01", "2027-02-29", "2027-01-02T", "2027-01-02Z",
          "2027-01-02T03:04:05", "2027-01-02T24:00:00Z", "2027-01-02T03:04:05Zx"}) {
        EXPECT_EQ(written_again(text), "none") << text;
    }
}

TEST(Rfc3339Test, YearsHaveFourDigitsInUtc) {
    EXPECT_EQ(written_again("9999-12-31T23:59:59Z"), "9999-12-31T23:59:59Z");
    EXPECT_EQ(written_again("9999-12-31T23:59:59-00:01"), "none");
    EXPECT_EQ(written_again("0000-01-01T00:00:00Z"), "0000-01-01T00:00:00Z");
    EXPECT_EQ(written_again("0000-01-01T00:00:59+00:01"), "none");
}

TEST(Utf8Test, LinesHaveNoControlCharacters) {
    EXPECT_TRUE(is_utf8_line(""));
    EXPECT_TRUE(is_utf8_line("a \xc3\xa4 \xe2\x82\xac \xf0\x9f\x90\x95"));
    for (const auto* text :
         {"a\n", "\x1b[0m", "\x7f", "\xc2\x9b", "\xe2\x80\xa8", "\xff", "\xc3", "\xed\xa0\x80"}) {
        EXPECT_FALSE(is_utf8_line(text)) << text;
    }
}

}  // namespace
}  // namespace tollgate
