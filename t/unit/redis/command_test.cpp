#include "module/redis/protocol/command.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace tollgate::redis {
namespace {

using namespace std::literals;

TEST(Words, AreBinarySafe) {
    std::string out = "before";
    append_command(out, {"ECHO", "a\r\n\0b"sv, ""});
    EXPECT_EQ(out, "before*3\r\n$4\r\nECHO\r\n$5\r\na\r\n\0b\r\n$0\r\n\r\n"s);
}

TEST(Words, TakeNumbersAndOtherWords) {
    Words words{"a"};
    words.add(0);
    words.add(std::numeric_limits<std::int64_t>::min());
    words.add(Words{"b", "c"});
    words.add(Words{});
    EXPECT_EQ(words.size(), 5U);
    EXPECT_EQ(words.bytes(),
              "$1\r\na\r\n$1\r\n0\r\n$20\r\n-9223372036854775808\r\n$1\r\nb\r\n$1\r\nc\r\n");
}

TEST(Words, MayBeNone) {
    std::string out;
    append_command(out, {});
    EXPECT_EQ(out, "*0\r\n");
}

}  // namespace
}  // namespace tollgate::redis
