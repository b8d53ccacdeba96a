#include "module/key/address_blocks.hpp"

#include <arpa/inet.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "module/text/parse_error.hpp"

namespace tollgate {
namespace {

std::vector<unsigned char> bytes_of(const std::string& address) {
    const bool is_ipv6 = address.find(':') != std::string::npos;
    std::vector<unsigned char> bytes(is_ipv6 ? 16 : 4);
    EXPECT_EQ(inet_pton(is_ipv6 ? AF_INET6 : AF_INET, address.c_str(), bytes.data()), 1);
    return bytes;
}

bool contains(const std::string& blocks, const std::string& address) {
    return contains_address(parse_address_blocks(blocks), bytes_of(address));
}

TEST(AddressBlocks, AreWrittenInOneForm) {
    EXPECT_EQ(parse_address_blocks(""), "");
    EXPECT_EQ(parse_address_blocks("  192.0.2.1 "), "192.0.2.1");
    EXPECT_EQ(parse_address_blocks("192.0.2.1/32"), "192.0.2.1");
    EXPECT_EQ(parse_address_blocks("192.0.2.129/25"), "192.0.2.128/25");
    EXPECT_EQ(parse_address_blocks("10.1.2.3/0"), "0.0.0.0/0");
    EXPECT_EQ(parse_address_blocks("2001:DB8:0:0::7/33"), "2001:db8::/33");
    EXPECT_EQ(parse_address_blocks("::/0"), "::/0");
    EXPECT_EQ(parse_address_blocks("2001:db8::1/128"), "2001:db8::1");
}

TEST(AddressBlocks, AreSortedEachOnce) {
    EXPECT_EQ(parse_address_blocks("2001:db8::/32 10.2.0.0/16 10.1.9.9/16 10.2.7.0/16"),
              "10.1.0.0/16 10.2.0.0/16 2001:db8::/32");
}

TEST(AddressBlocks, OfMappedAddressesAreThoseOfIpv4) {
    EXPECT_EQ(parse_address_blocks("::ffff:192.0.2.0/120"), "192.0.2.0/24");
    EXPECT_EQ(parse_address_blocks("::ffff:0:0/90"), "::ffc0:0:0/90")
        << "more than mapped addresses";
}

TEST(AddressBlocks, MustBeValid) {
    for (const char* text :
         {"a", "192.0.2", "192.0.2.256", "192.0.2.1/33", "192.0.2.1/", "192.0.2.1/-1", "::/129",
          "192.0.2.1/24/8", "::1%lo", "192.0.2.1/+8", "0x7f.0.0.1", "192.0.2.1,192.0.2.2"}) {
        EXPECT_THROW(parse_address_blocks(text), ParseError) << text;
    }
    EXPECT_THROW(parse_address_blocks(std::string("192.0.2.1\0", 10)), ParseError);
}

TEST(AddressBlocks, AreAtMostSixteen) {
    std::string blocks;
    for (int i = 0; i < 16; ++i) {
        blocks += "fff0:ffff:ffff:ffff:ffff:ffff:ffff:ff" + std::string(1, "0123456789abcdef"[i]) +
                  "0/124 ";
    }
    const std::string longest = parse_address_blocks(blocks);
    EXPECT_EQ(longest.size(), kLongestAddressBlocks);
    EXPECT_EQ(parse_address_blocks(longest), longest);
    EXPECT_EQ(parse_address_blocks(blocks + longest), longest) << "repeated ones do not count";
    EXPECT_THROW(parse_address_blocks(blocks + "192.0.2.1"), ParseError);
}

TEST(AddressBlocks, ContainTheAddressesWithTheirPrefix) {
    EXPECT_TRUE(contains("192.0.2.0/24", "192.0.2.0"));
    EXPECT_TRUE(contains("192.0.2.0/24", "192.0.2.255"));
    EXPECT_FALSE(contains("192.0.2.0/24", "192.0.3.0"));
    EXPECT_TRUE(contains("192.0.2.8/29", "192.0.2.15"));
    EXPECT_FALSE(contains("192.0.2.8/29", "192.0.2.16"));
    EXPECT_TRUE(contains("192.0.2.1", "192.0.2.1"));
    EXPECT_FALSE(contains("192.0.2.1", "192.0.2.0"));
    EXPECT_TRUE(contains("0.0.0.0/0", "203.0.113.9"));
    EXPECT_TRUE(contains("10.0.0.0/8 2001:db8::/32", "2001:db8:ffff::1"));
    EXPECT_FALSE(contains("10.0.0.0/8 2001:db8::/32", "2001:db9::1"));
    EXPECT_TRUE(contains("2001:db8::1", "2001:db8::1"));
    EXPECT_FALSE(contains("2001:db8::1", "2001:db8::2"));
}

TEST(AddressBlocks, OfOneFamilyContainNoAddressOfTheOther) {
    EXPECT_FALSE(contains("0.0.0.0/0", "::1"));
    EXPECT_FALSE(contains("::/0", "192.0.2.1"));
    EXPECT_TRUE(contains("192.0.2.0/24", "::ffff:192.0.2.7")) << "a client of a dual-stack socket";
}

TEST(AddressBlocks, ContainNoClientWithoutAnAddress) {
    EXPECT_FALSE(contains_address("0.0.0.0/0 ::/0", {}));
    EXPECT_FALSE(contains_address("", bytes_of("192.0.2.1")));
}

}  // namespace
}  // namespace tollgate
