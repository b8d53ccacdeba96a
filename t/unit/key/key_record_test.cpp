#include "module/key/key_record.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <string_view>

namespace tollgate {
namespace {

using namespace std::chrono_literals;
using namespace std::string_literals;

TEST(KeyId, TakesLettersDigitsAndThreeMarks) {
    EXPECT_TRUE(is_valid_key_id("a"));
    EXPECT_TRUE(is_valid_key_id("Key_9-x.y"));
    EXPECT_TRUE(is_valid_key_id(std::string(64, 'x')));
}

TEST(KeyId, RefusesCharactersThatEndItInARedisKeyOrALog) {
    EXPECT_FALSE(is_valid_key_id(""));
    EXPECT_FALSE(is_valid_key_id(std::string(65, 'x')));
    for (const auto& text : {"a b"s, "a}"s, "{a"s, "a:b"s, "a*"s, "a\"b"s, "a\nb"s, "a\rb"s,
                             "a\0b"s, "\xc3\xa9"s, "a/b"s}) {
        EXPECT_FALSE(is_valid_key_id(text)) << text;
        EXPECT_FALSE(is_valid_name(text)) << text;
    }
}

TEST(KeyName, IsFreeText) {
    EXPECT_TRUE(is_valid_key_name(""));
    EXPECT_TRUE(is_valid_key_name("Bob's \"shop\" \xc3\xa9"));
    EXPECT_TRUE(is_valid_key_name(std::string(256, 'x')));
}

TEST(KeyName, HasNoControlCharacters) {
    EXPECT_FALSE(is_valid_key_name(std::string(257, 'x')));
    for (const char c : "\n\r\t\x1b\x7f\x01"s) {
        EXPECT_FALSE(is_valid_key_name("a"s + c));
    }
    EXPECT_FALSE(is_valid_key_name("a\0b"s));
}

TEST(KeyRecord, EndsAtItsExpiry) {
    const std::chrono::sys_seconds end(1000s);
    KeyRecord record;
    record.expires = end;
    EXPECT_TRUE(record.is_valid_at(end - 1s));
    EXPECT_FALSE(record.is_valid_at(end));
    record.expires.reset();
    EXPECT_TRUE(record.is_valid_at(end));
}

TEST(KeyRecord, IsNotValidWhileDisabled) {
    KeyRecord record;
    record.active = false;
    EXPECT_FALSE(record.is_valid_at({}));
}

}  // namespace
}  // namespace tollgate
