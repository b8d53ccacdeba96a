#include "module/redis/protocol/greeting.hpp"

#include <gtest/gtest.h>

namespace tollgate::redis {
namespace {

redisReply reply_of(int type) {
    redisReply reply{};
    reply.type = type;
    return reply;
}

TEST(Greeting, MayBeNothing) {
    Greeting greeting;
    std::string out;
    greeting.begin("", "", 0, out);
    EXPECT_EQ(out, "");
    EXPECT_TRUE(greeting.done());
}

TEST(Greeting, AuthenticatesThenSelects) {
    Greeting greeting;
    std::string out;
    greeting.begin("app", "secret", 3, out);
    EXPECT_EQ(out,
              "*3\r\n$4\r\nAUTH\r\n$3\r\napp\r\n$6\r\nsecret\r\n"
              "*2\r\n$6\r\nSELECT\r\n$1\r\n3\r\n");
    EXPECT_TRUE(greeting.take(reply_of(REDIS_REPLY_STATUS)));
    EXPECT_FALSE(greeting.done());
    EXPECT_TRUE(greeting.take(reply_of(REDIS_REPLY_STATUS)));
    EXPECT_TRUE(greeting.done());
}

TEST(Greeting, NeedsNoUser) {
    Greeting greeting;
    std::string out;
    greeting.begin("", "secret", 0, out);
    EXPECT_EQ(out, "*2\r\n$4\r\nAUTH\r\n$6\r\nsecret\r\n");
}

TEST(Greeting, CanBeRefused) {
    Greeting greeting;
    std::string out;
    greeting.begin("", "wrong", 0, out);
    EXPECT_FALSE(greeting.take(reply_of(REDIS_REPLY_ERROR)));
}

}  // namespace
}  // namespace tollgate::redis
