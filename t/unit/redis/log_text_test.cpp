#include "module/redis/protocol/log_text.hpp"

#include <gtest/gtest.h>

#include <string>

namespace tollgate::redis {
namespace {

using namespace std::literals;

std::string shown(std::string_view text) {
    return std::string(std::string_view(LogText(text)));
}

TEST(LogText, LeavesPrintableAsciiAsItIs) {
    EXPECT_EQ(shown("OOM command not allowed, 100% \"used\" ~"),
              "OOM command not allowed, 100% \"used\" ~");
    EXPECT_EQ(shown(""), "");
}

TEST(LogText, EscapesOtherBytes) {
    EXPECT_EQ(shown("a\x1b[31m\a\r\n\0\x7f\xc3\xa9"sv), R"(a\x1b[31m\x07\x0d\x0a\x00\x7f\xc3\xa9)");
    EXPECT_EQ(shown(shown("\x1b")), shown("\x1b"));
}

TEST(LogText, CutsOffLongTexts) {
    EXPECT_EQ(shown(std::string(LogText::kMost, 'x')), std::string(LogText::kMost, 'x'));
    EXPECT_EQ(shown(std::string(LogText::kMost + 1, 'x')),
              std::string(LogText::kMost, 'x') + "...");
    EXPECT_EQ(shown(std::string(LogText::kMost - 3, 'x') + "\n"),
              std::string(LogText::kMost - 3, 'x') + "...");
}

TEST(LogText, GrowsUpToItsBound) {
    LogText text;
    EXPECT_TRUE(text.empty());
    text.append("one");
    text.append("; two");
    EXPECT_EQ(std::string_view(text), "one; two");
    for (int i = 0; i < 1000; ++i) {
        text.append("more");
    }
    EXPECT_EQ(std::string_view(text).size(), LogText::kMost + 3);
}

}  // namespace
}  // namespace tollgate::redis
