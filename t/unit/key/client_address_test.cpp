#include "module/key/client_address.hpp"

#include <arpa/inet.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace tollgate {
namespace {

ClientAddress of(const std::string& text) {
    const int family = text.find(':') == std::string::npos ? AF_INET : AF_INET6;
    std::vector<unsigned char> bytes(family == AF_INET ? 4 : 16);
    EXPECT_EQ(inet_pton(family, text.c_str(), bytes.data()), 1) << text;
    return client_address(bytes);
}

TEST(ClientAddress, IsAnIpv4Address) {
    EXPECT_EQ(of("192.0.2.1"), of("192.0.2.1"));
    EXPECT_NE(of("192.0.2.1"), of("192.0.2.2"));
}

TEST(ClientAddress, IsTheFirstHalfOfAnIpv6Address) {
    EXPECT_EQ(of("2001:db8:1:2::1"), of("2001:db8:1:2:ffff:ffff:ffff:ffff"));
    EXPECT_NE(of("2001:db8:1:2::1"), of("2001:db8:1:3::1"));
    EXPECT_EQ(of("::1"), of("::2"));
}

TEST(ClientAddress, IsIpv4WhereIpv6MapsIt) {
    EXPECT_EQ(of("::ffff:192.0.2.1"), of("192.0.2.1"));
    EXPECT_NE(of("::ffff:192.0.2.1"), of("::ffff:192.0.2.2"));
    EXPECT_NE(of("::192.0.2.1"), of("192.0.2.1"));
}

TEST(ClientAddress, IsOneForAllOthers) {
    EXPECT_EQ(client_address({}), ClientAddress());
    EXPECT_EQ(client_address(std::vector<unsigned char>(5)), ClientAddress());
    EXPECT_NE(of("0.0.0.0"), ClientAddress());
    EXPECT_NE(of("::"), ClientAddress());
    EXPECT_NE(of("::"), of("0.0.0.0"));
}

TEST(ClientAddress, IsWrittenInHexadecimal) {
    EXPECT_EQ(address_text(of("192.0.2.1")), "c0000201");
    EXPECT_EQ(address_text(of("2001:db8:0:7::1")), "20010db800000007");
    EXPECT_EQ(address_text(ClientAddress()), "0");
}

}  // namespace
}  // namespace tollgate
