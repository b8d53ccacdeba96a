#include "module/redis/topology/server_address.hpp"

#include <gtest/gtest.h>

namespace tollgate::redis {
namespace {

using Parsed = std::optional<ServerAddress>;

Parsed parse(std::string_view text) {
    return parse_server_address(text, "asked.example.com");
}

TEST(ServerAddress, HasAHostAndAPort) {
    EXPECT_EQ(parse("127.0.0.1:6381"), Parsed({"127.0.0.1", 6381}));
    EXPECT_EQ(parse("redis-1.example.com:1"), Parsed({"redis-1.example.com", 1}));
    EXPECT_EQ(parse("redis_1:65535"), Parsed({"redis_1", 65535}));
}

TEST(ServerAddress, MayBeIPv6WithAndWithoutBrackets) {
    EXPECT_EQ(parse("::1:6381"), Parsed({"::1", 6381}));
    EXPECT_EQ(parse("[::1]:6381"), Parsed({"::1", 6381}));
    EXPECT_EQ(parse("2001:db8::5:6381"), Parsed({"2001:db8::5", 6381}));
    EXPECT_EQ(parse("::ffff:10.0.0.1:6381"), Parsed({"::ffff:10.0.0.1", 6381}));
    EXPECT_EQ(parse("fe80::1%eth0:6381"), Parsed({"fe80::1%eth0", 6381}));
}

TEST(ServerAddress, WithoutAHostIsTheServerThatWasAsked) {
    EXPECT_EQ(parse(":6381"), Parsed({"asked.example.com", 6381}));
    EXPECT_EQ(parse_server_address(":6381", "::1"), Parsed({"::1", 6381}));
    EXPECT_EQ(parse_server_address(":6381", ""), std::nullopt);
}

TEST(ServerAddress, HasAPortFrom1To65535) {
    for (const auto* text : {"host:0", "host:65536", "host:-1", "host:+1", "host:", "host: 1",
                             "host:1 ", "host:1x", "host:0x10", "host:99999999999999999999"}) {
        EXPECT_EQ(parse(text), std::nullopt) << text;
    }
    EXPECT_EQ(make_server_address("host", 0), std::nullopt);
    EXPECT_EQ(make_server_address("host", 65536), std::nullopt);
    EXPECT_EQ(make_server_address("host", std::int64_t{1} << 32U | 6379), std::nullopt);
}

TEST(ServerAddress, HasAHostThatIsSafeToResolveAndToLog) {
    using namespace std::string_view_literals;
    for (const auto text : {""sv,
                            "host"sv,
                            "6379"sv,
                            "a b:1"sv,
                            " host:1"sv,
                            "host\r\n:1"sv,
                            "ho\0st:1"sv,
                            "host\x7f:1"sv,
                            "h\xc3\xb6st:1"sv,
                            "unix:/tmp/redis.sock:1"sv,
                            "/tmp/redis.sock:1"sv,
                            "unix::1"sv,
                            "user@host:1"sv,
                            "?:6381"sv,
                            "[]:1"sv,
                            "[::1:1"sv,
                            "::1]:1"sv,
                            "[[::1]]:1"sv,
                            "host:name:1"sv,
                            "::1%:1"sv,
                            "::1%/etc:1"sv,
                            "fe80::1%a%b:1"sv}) {
        EXPECT_EQ(parse(text), std::nullopt) << text;
    }
}

TEST(ServerAddress, HasAHostOfAtMost255Characters) {
    EXPECT_TRUE(is_valid_host(std::string(255, 'a')));
    EXPECT_FALSE(is_valid_host(std::string(256, 'a')));
    EXPECT_FALSE(is_valid_host(std::string(256, ':')));
    EXPECT_FALSE(is_valid_host(""));
}

TEST(ServerAddress, IsWrittenAsItIsParsed) {
    for (const auto* text : {"127.0.0.1:6381", "[2001:db8::5]:6381", "host:1"}) {
        const auto address = parse(text);
        ASSERT_TRUE(address) << text;
        EXPECT_EQ(to_text(*address), text);
    }
}

}  // namespace
}  // namespace tollgate::redis
