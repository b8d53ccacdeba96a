#include "module/redis/topology/redirection.hpp"

#include <gtest/gtest.h>

namespace tollgate::redis {
namespace {

TEST(Redirection, ReadsMovedAndAsk) {
    const auto moved = read_redirection("MOVED 3999 127.0.0.1:6381", "asked");
    ASSERT_TRUE(moved);
    EXPECT_EQ(moved->slot, 3999);
    EXPECT_EQ(moved->server, (ServerAddress{"127.0.0.1", 6381}));

    const auto ask = read_redirection("ASK 16383 ::1:6381", "asked");
    ASSERT_TRUE(ask);
    EXPECT_EQ(ask->slot, 16383);
    EXPECT_EQ(ask->server, (ServerAddress{"::1", 6381}));
}

TEST(Redirection, TakesTheAskedHostForAnEmptyOne) {
    const auto moved = read_redirection("MOVED 0 :6381", "asked");
    ASSERT_TRUE(moved);
    EXPECT_EQ(moved->server, (ServerAddress{"asked", 6381}));
    EXPECT_FALSE(read_redirection("MOVED 0 :6381", ""));
}

TEST(Redirection, RefusesAnythingElse) {
    for (const auto* message : {"",
                                " ",
                                "MOVED",
                                "MOVED ",
                                "MOVED 1",
                                "MOVED 1 ",
                                "MOVED  1 a:1",
                                "MOVED 1  a:1",
                                "MOVED 1 a:1 b",
                                "MOVED 1 a:1 ",
                                "MOVED 1 a",
                                "MOVED 1 a:0",
                                "MOVED 1 a:65536",
                                "MOVED -1 a:1",
                                "MOVED 16384 a:1",
                                "MOVED 99999999999999999999 a:1",
                                "MOVED x a:1",
                                "MOVED a:1 1",
                                "MOVED 1 ?:6381",
                                "MOVED 1 unix:/tmp/s:1",
                                "moved 1 a:1",
                                "MOVEDX 1 a:1",
                                "ASKING 1 a:1",
                                "TRYAGAIN 1 a:1",
                                " MOVED 1 a:1",
                                "MOVED\t1\ta:1",
                                "MOVED 1 a:1\r\n",
                                "@user_script: 12: -MOVED 1 a:1"}) {
        EXPECT_FALSE(read_redirection(message, "asked")) << message;
    }
}

}  // namespace
}  // namespace tollgate::redis
