#include "module/key/digest.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string_view>

namespace tollgate {
namespace {

TEST(Sha256, IsThatOfTheStandard) {
    // The vectors of FIPS 180-2.
    EXPECT_EQ(hex(sha256("abc")),
              "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    EXPECT_EQ(hex(sha256("")), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    EXPECT_EQ(hex(sha256("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq")),
              "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
}

TEST(Sha256, CountsBytesAfterNul) {
    EXPECT_NE(sha256(std::string_view("a\0b", 3)), sha256("a"));
}

TEST(IdHash, OfAnIdInAGroupIsNearThatOfTheGroup) {
    const IdHash grouped = id_hash("k1", "acme");
    EXPECT_EQ(id_hash("k1", ""), id_hash("k1"));
    EXPECT_NE(grouped, id_hash("k1"));
    EXPECT_NE(grouped, id_hash("k1", "globex"));
    EXPECT_NE(grouped, id_hash("k2", "acme"));
    EXPECT_TRUE(std::equal(grouped.begin() + 8, grouped.end(), id_hash("acme").begin() + 8));
    EXPECT_TRUE(is_same_id(grouped, id_hash("k1")));
    EXPECT_FALSE(is_same_id(grouped, id_hash("acme")));
}

TEST(Sha1Hex, IsThatOfTheStandard) {
    EXPECT_EQ(sha1_hex("abc"), "a9993e364706816aba3e25717850c26c9cd0d89d");
}

}  // namespace
}  // namespace tollgate
