#include "module/redis/protocol/redis_time.hpp"

#include <gtest/gtest.h>

#include "module/redis/protocol/reply.hpp"

namespace tollgate::redis {
namespace {

using namespace std::chrono_literals;

/// The time in a reply of these bytes, an array.
std::optional<ExactInstant> time_in(std::string_view bytes) {
    ReplyReader reader;
    EXPECT_TRUE(reader.feed(bytes));
    const auto reply = reader.next();
    return reply ? read_time(elements_of(*reply)) : std::nullopt;
}

TEST(RedisTime, IsExactToTheMicrosecond) {
    EXPECT_EQ(time_in("*2\r\n$10\r\n1700000000\r\n$6\r\n123999\r\n"),
              ExactInstant(1'700'000'000'123'999us));
    EXPECT_EQ(time_in("*2\r\n$12\r\n253402300799\r\n$1\r\n0\r\n"), ExactInstant(253'402'300'799s));
}

TEST(RedisTime, RejectsOtherReplies) {
    for (const auto* bytes :
         {"*0\r\n", "*1\r\n$1\r\n1\r\n", "*3\r\n$1\r\n1\r\n$1\r\n1\r\n$1\r\n1\r\n",
          "*2\r\n:1\r\n:1\r\n", "*2\r\n$2\r\n-1\r\n$1\r\n0\r\n",
          "*2\r\n$1\r\n1\r\n$7\r\n1000000\r\n", "*2\r\n$1\r\nx\r\n$1\r\n0\r\n",
          "*2\r\n$12\r\n253402300800\r\n$1\r\n0\r\n",
          "*2\r\n$19\r\n9223372036854775807\r\n$6\r\n999999\r\n",
          "*2\r\n$20\r\n99999999999999999999\r\n$1\r\n0\r\n"}) {
        EXPECT_EQ(time_in(bytes), std::nullopt) << bytes;
    }
}

}  // namespace
}  // namespace tollgate::redis
