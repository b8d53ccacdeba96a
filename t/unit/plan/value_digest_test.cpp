#include "module/plan/value_digest.hpp"

#include <gtest/gtest.h>

#include <string>

namespace tollgate {
namespace {

TEST(ValueDigest, IsTheBeginOfTheSha256) {
    // printf alice | sha256sum
    EXPECT_EQ(ValueDigest::of("alice").suffix(), ":2bd806c97f0e00af");
    EXPECT_EQ(ValueDigest::of("alice").number(), 0x2bd806c97f0e00afU);
    EXPECT_NE(ValueDigest::of("alice"), ValueDigest::of("Alice"));
    EXPECT_EQ(ValueDigest::of(std::string(100'000, 'a')).suffix().size(), 17);
}

TEST(ValueDigest, IsMadeAgainFromItsNumber) {
    const ValueDigest digest = ValueDigest::of("alice");
    EXPECT_EQ(ValueDigest(digest.number()), digest);
    EXPECT_EQ(ValueDigest(digest.number()).suffix(), digest.suffix());
    EXPECT_EQ(ValueDigest(2).suffix(), ":0000000000000002");
}

TEST(ValueDigest, IsReadFromItsSuffix) {
    EXPECT_EQ(ValueDigest::read(":2bd806c97f0e00af"), ValueDigest::of("alice"));
    for (const auto* text : {"", ":", ":2bd806c97f0e00a", ":2bd806c97f0e00afa", ":2bd806c97f0e00ag",
                             "22bd806c97f0e00af", ":-bd806c97f0e00af"}) {
        EXPECT_FALSE(ValueDigest::read(text)) << text;
    }
}

TEST(ValueDigest, NamesTheCounterOfAGroup) {
    const ValueDigest group = ValueDigest::of_group();
    EXPECT_TRUE(group.is_group());
    EXPECT_EQ(group.suffix(), ":group");
    EXPECT_EQ(ValueDigest::read(":group"), group);
    EXPECT_EQ(ValueDigest(group.number()), group);
    EXPECT_FALSE(ValueDigest::of("group").is_group());
    EXPECT_FALSE(ValueDigest().is_group());
}

TEST(ValueDigest, HasNoSuffixWithoutAValue) {
    EXPECT_FALSE(ValueDigest());
    EXPECT_EQ(ValueDigest().suffix(), "");
    EXPECT_FALSE(ValueDigest(0));
    EXPECT_EQ(ValueDigest(0).suffix(), "");
}

}  // namespace
}  // namespace tollgate
