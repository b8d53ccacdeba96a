#include "module/redis/topology/key_slot.hpp"

#include <gtest/gtest.h>

#include <string>

#include "module/redis/topology/slot_tag.hpp"

namespace tollgate::redis {
namespace {

TEST(KeySlot, IsTheChecksumOfTheKey) {
    EXPECT_EQ(crc16("123456789"), 0x31C3);  // the check value of CRC-16/XMODEM
    EXPECT_EQ(crc16(""), 0);
    EXPECT_EQ(key_slot("123456789"), 12739);
    EXPECT_EQ(key_slot(""), 0);
}

// The numbers are replies of CLUSTER KEYSLOT of Redis 7.0.
TEST(KeySlot, IsThatOfRedis) {
    EXPECT_EQ(key_slot("foo"), 12182);
    EXPECT_EQ(key_slot("somekey"), 11058);
    EXPECT_EQ(key_slot("foo{}{bar}"), 8363);
    EXPECT_EQ(key_slot("foo{{bar}}zap"), 4015);
    EXPECT_EQ(key_slot("foo{bar}{zap}"), 5061);
    EXPECT_EQ(key_slot("{user1000}.following"), 3443);
    EXPECT_EQ(key_slot("a{"), 14311);
    EXPECT_EQ(key_slot("a}b{c}"), 7365);
    EXPECT_EQ(key_slot("{}"), 15257);
}

TEST(KeySlot, IsThatOfTheHashTag) {
    EXPECT_EQ(key_slot("{user1000}.following"), key_slot("{user1000}.followers"));
    EXPECT_EQ(key_slot("{user1000}.following"), key_slot("user1000"));
    EXPECT_EQ(key_slot("foo{{bar}}zap"), key_slot("{bar"));
    EXPECT_EQ(key_slot("foo{bar}{zap}"), key_slot("bar"));
    EXPECT_EQ(key_slot("a}b{c}"), key_slot("c"));
    EXPECT_EQ(key_slot("petstore:quota:{k-1}:api"), key_slot("petstore:ban:{k-1}"));
}

TEST(KeySlot, IsThatOfTheWholeKeyWithoutATag) {
    EXPECT_EQ(key_slot("foo{}{bar}"), crc16("foo{}{bar}") % kSlots);  // an empty tag
    EXPECT_EQ(key_slot("{open"), crc16("{open") % kSlots);
    EXPECT_EQ(key_slot("close}"), crc16("close}") % kSlots);
}

TEST(KeySlot, TakesAnyByte) {
    std::string key;
    for (int byte = 255; byte >= 0; --byte) {
        key.push_back(static_cast<char>(byte));
        EXPECT_LT(key_slot(key), kSlots);
    }
    EXPECT_NE(crc16("\xff"), crc16("\x7f"));
}

TEST(SlotTag, HasItsSlot) {
    for (Slot slot = 0; slot < kSlots; ++slot) {
        ASSERT_EQ(key_slot("t:notices:{" + slot_tag(slot) + "}"), slot);
        ASSERT_LE(slot_tag(slot).size(), 6U);
    }
}

}  // namespace
}  // namespace tollgate::redis
