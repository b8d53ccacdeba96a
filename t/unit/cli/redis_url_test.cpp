#include "module/cli/redis/redis_url.hpp"

#include <gtest/gtest.h>

#include <string>

#include "module/cli/failure.hpp"

namespace tollgate::cli {
namespace {

using Kind = RedisUrl::Kind;
using redis::ServerAddress;

/// The message for a URL that is refused.
std::string refusal(std::string_view url) {
    try {
        parse_redis_url(url);
    } catch (const Failure& failure) {
        EXPECT_EQ(failure.status(), ExitStatus::kUsage) << url;
        return failure.what();
    }
    ADD_FAILURE() << "accepted: " << url;
    return {};
}

TEST(RedisUrl, NamesOneServer) {
    const auto url = parse_redis_url("redis://app:s%3Acret@redis.test:6380/7");
    EXPECT_EQ(url.kind, Kind::kServer);
    EXPECT_EQ(url.servers, (std::vector<ServerAddress>{{"redis.test", 6380}}));
    EXPECT_EQ(url.login.user, "app");
    EXPECT_EQ(url.login.password, "s:cret");
    EXPECT_EQ(url.database, 7U);
    EXPECT_FALSE(url.tls.on);
}

TEST(RedisUrl, HasDefaultPorts) {
    EXPECT_EQ(parse_redis_url("redis://h").servers.front().port, 6379);
    EXPECT_EQ(parse_redis_url("redis+sentinel://h/m").servers.front().port, 26379);
    EXPECT_EQ(parse_redis_url("redis+cluster://h").servers.front().port, 6379);
}

TEST(RedisUrl, NamesSentinelsAndTheirMaster) {
    const auto url = parse_redis_url("redis+sentinel://u:p@h1,[::1]:5,h3:26380/my.master-1_x/3");
    EXPECT_EQ(url.kind, Kind::kSentinel);
    EXPECT_EQ(url.servers, (std::vector<ServerAddress>{{"h1", 26379}, {"::1", 5}, {"h3", 26380}}));
    EXPECT_EQ(url.master, "my.master-1_x");
    EXPECT_EQ(url.database, 3U);
    EXPECT_EQ(url.login.password, "p");
    EXPECT_TRUE(url.sentinel_login.user.empty());
    EXPECT_EQ(parse_redis_url("redis+sentinel://h/m/").database, 0U);
}

TEST(RedisUrl, HasParametersOfSentinelsAndTls) {
    const auto url = parse_redis_url(
        "rediss+sentinel://h/m?sentinel_username=w%40tch&sentinel_password_file=/s&"
        "password_file=/p&tls_ca=/ca&tls_cert=/c&tls_key=/k&tls_server_name=n&tls_verify=off");
    EXPECT_EQ(url.sentinel_login.user, "w@tch");
    EXPECT_EQ(url.sentinel_login.password_file, "/s");
    EXPECT_EQ(url.login.password_file, "/p");
    EXPECT_TRUE(url.tls.on);
    EXPECT_FALSE(url.tls.verify);
    EXPECT_EQ(url.tls.ca, "/ca");
    EXPECT_EQ(url.tls.certificate, "/c");
    EXPECT_EQ(url.tls.key, "/k");
    EXPECT_EQ(url.tls.server_name, "n");
}

TEST(RedisUrl, NamesServersOfACluster) {
    const auto url = parse_redis_url("rediss+cluster://:p@h1:7000,h2/?tls_ca=/ca");
    EXPECT_EQ(url.kind, Kind::kCluster);
    EXPECT_EQ(url.servers, (std::vector<ServerAddress>{{"h1", 7000}, {"h2", 6379}}));
    EXPECT_TRUE(url.login.user.empty());
    EXPECT_EQ(url.login.password, "p");
    EXPECT_EQ(url.tls.ca, "/ca");
}

TEST(RedisUrl, NamesAUnixSocket) {
    const auto url = parse_redis_url("unix://u:p@/run/redis.sock?db=2");
    EXPECT_EQ(url.path, "/run/redis.sock");
    EXPECT_TRUE(url.servers.empty());
    EXPECT_EQ(url.login.user, "u");
    EXPECT_EQ(url.login.password, "p");
    EXPECT_EQ(url.database, 2U);
    EXPECT_EQ(parse_redis_url("unix:/s").path, "/s");
}

TEST(RedisUrl, MayLackThePasswordOfAUser) {
    const auto lacks = [](std::string_view url) {
        return parse_redis_url(url).login.lacks_password();
    };
    EXPECT_TRUE(lacks("redis://user@h"));
    EXPECT_TRUE(lacks("redis+cluster://user:@h"));
    EXPECT_TRUE(lacks("unix://user@/s"));
    EXPECT_FALSE(lacks("redis://user@h?password_file=/p"));
    EXPECT_FALSE(lacks("redis://user:p@h"));
    EXPECT_FALSE(lacks("redis://h"));
    const auto url = parse_redis_url("redis+sentinel://h/m?sentinel_username=u");
    EXPECT_TRUE(url.sentinel_login.lacks_password());
    EXPECT_FALSE(url.login.lacks_password());
}

TEST(RedisUrl, RefusesEveryOtherForm) {
    for (const std::string url : {
             "",
             "h",
             "http://h",
             "redis:h",
             "redis+sentinels://h/m",
             "Redis://h",
             // hosts
             "redis://",
             "redis://:secret@",
             "redis+cluster://",
             "redis+cluster://h,",
             "redis+cluster://,h",
             "redis+cluster://h,,h",
             "redis+sentinel:///m",
             "redis+sentinel://,/m",
             "redis://h1,h2",
             "unix:",
             "unix://",
             "unix://:secret@",
             "unix://host/path",
             "redis://[::1",
             "redis://[::1]x",
             "redis://[]",
             "redis://::1",
             "redis://h h",
             "redis://h/0\n",
             "redis+cluster://h;h2",
             // ports
             "redis://h:",
             "redis://h:0",
             "redis://h:65536",
             "redis://h:x",
             "redis://h:-1",
             "redis://[::1]:",
             "redis+cluster://h:7000,h:0",
             "redis+sentinel://h:1:2/m",
             // the path
             "redis+sentinel://h",
             "redis+sentinel://h/",
             "redis+sentinel://h//0",
             "redis+sentinel://h/m/x",
             "redis+sentinel://h/m/0/1",
             "redis+sentinel://h/a b",
             "redis+sentinel://h/x@h/m",
             "redis+sentinel://h/m:1",
             "redis+cluster://h/0",
             "redis+cluster://h/m",
             "redis://h/one",
             "redis://h/-1",
             "redis://h/0/1",
             "redis://h/4294967296",
             // the login
             "redis://@h",
             "redis://:@h",
             "redis+sentinel://@h/m",
             "redis://:secret%4@h",
             "redis://:secret%zz@h",
             "redis://u%-1:secret@h",
             // parameters
             "redis://h?",
             "redis://h?&",
             "redis://h?db=1",
             "redis://h?password_file",
             "redis://h?password_file=",
             "redis://h?password_file=%4",
             "redis://h?password_file=a&password_file=b",
             "redis://h?password_file=a&",
             "redis://u:secret@h?password_file=a",
             "redis://h?tls_ca=a",
             "redis://h?tls_verify=on",
             "redis+cluster://h?tls_ca=a",
             "rediss://h?tls_verify=no",
             "rediss://h?tls_cert=a",
             "rediss+cluster://h?tls_key=a",
             "rediss://h?tls_unknown=a",
             "unix:/s?db=x",
             "unix:/s?database=1",
             "unix:/s?tls_ca=a",
             "redis://h?sentinel_username=a",
             "redis+cluster://h?sentinel_password_file=a",
             "unix:/s?sentinel_username=a",
             "redis+sentinel://h/m?db=1",
             "redis+sentinel://h/m?sentinel_password=secret",
             "redis+sentinel://h/m?sentinel_username=",
         }) {
        const auto message = refusal(url);
        EXPECT_TRUE(message.starts_with("invalid Redis URL: ")) << url << ": " << message;
        EXPECT_EQ(message.find("secret"), std::string::npos) << message;
    }
    refusal(std::string_view("redis://h\0h", 11));
}

TEST(RedisUrl, SaysWhatAParameterNeeds) {
    EXPECT_NE(refusal("redis+cluster://h?tls_ca=a").find("rediss+cluster://"), std::string::npos);
    EXPECT_NE(refusal("redis://h?sentinel_username=a").find("redis+sentinel://"),
              std::string::npos);
    EXPECT_NE(refusal("redis://h1,h2").find("redis+cluster://"), std::string::npos);
    EXPECT_NE(refusal("redis+sentinel://h").find("HOST,HOST/MASTER"), std::string::npos);
}

}  // namespace
}  // namespace tollgate::cli
