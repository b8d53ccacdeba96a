#include "module/redis/topology/sentinel_replies.hpp"

#include <gtest/gtest.h>

#include "t/unit/redis/resp.hpp"

namespace tollgate::redis {
namespace {

using namespace resp;

std::optional<ServerAddress> address(const std::string& text) {
    return read_master_address(*parsed(text));
}
std::optional<MasterState> master(const std::string& text) {
    return read_master_state(*parsed(text));
}
Role role(const std::string& text) {
    return read_role(*parsed(text));
}

TEST(SentinelReplies, ReadsTheAddressOfAMaster) {
    EXPECT_EQ(address(array({bulk("127.0.0.1"), bulk("7391")})),
              (ServerAddress{"127.0.0.1", 7391}));
    EXPECT_EQ(address(array({bulk("::1"), bulk("7391")})), (ServerAddress{"::1", 7391}));
}

TEST(SentinelReplies, RefusesAMalformedAddress) {
    for (const auto& text :
         {std::string("*-1\r\n"), kNil, error("ERR No such master"), number(1), bulk("a"),
          std::string("+OK\r\n"), array({}), array({bulk("a")}),
          array({bulk("a"), bulk("1"), bulk("2")}), array({bulk(""), bulk("1")}),
          array({bulk("a"), bulk("")}), array({bulk("a"), bulk("0")}),
          array({bulk("a"), bulk("99999999999999999999")}), array({bulk("a"), number(1)}),
          array({kNil, bulk("1")}), array({bulk("a"), kNil}), array({array({kNil}), bulk("1")}),
          array({bulk("a b"), bulk("1")})}) {
        EXPECT_EQ(address(text), std::nullopt) << text;
    }
}

TEST(SentinelReplies, ReadsTheStateOfAMaster) {
    const auto read =
        master(array({bulk("name"), bulk("mymaster"), bulk("ip"), bulk("127.0.0.1"), bulk("port"),
                      bulk("7391"), bulk("runid"), bulk(""), bulk("flags"), bulk("master"),
                      bulk("config-epoch"), bulk("12"), bulk("num-slaves"), bulk("1")}));
    ASSERT_TRUE(read);
    EXPECT_EQ(read->address, (ServerAddress{"127.0.0.1", 7391}));
    EXPECT_EQ(read->config_epoch, 12);
    EXPECT_FALSE(read->is_down);
}

TEST(SentinelReplies, ReadsWhetherAReplicaIsBeingPromoted) {
    const auto is_failing_over = [](const std::string& flags) {
        const auto read =
            master(array({bulk("ip"), bulk("a"), bulk("port"), bulk("1"), bulk("config-epoch"),
                          bulk("0"), bulk("flags"), bulk(flags)}));
        return read && read->is_failing_over;
    };
    EXPECT_TRUE(is_failing_over("s_down,o_down,master,disconnected,failover_in_progress"));
    EXPECT_FALSE(is_failing_over("s_down,o_down,master"));
}

TEST(SentinelReplies, ReadsTheFlagsOfAMaster) {
    const auto is_down = [](const std::string& flags) {
        const auto read = master(array({bulk("ip"), bulk("a"), bulk("port"), bulk("1"),
                                        bulk("config-epoch"), bulk("0"), bulk("flags"), flags}));
        return read && read->is_down;
    };
    for (const auto* flags : {"s_down,master,disconnected", "master,o_down", "s_down", "o_down"}) {
        EXPECT_TRUE(is_down(bulk(flags))) << flags;
    }
    for (const auto* flags : {"", "master", ",", ",,", "s_downx", "xs_down,master", "S_DOWN"}) {
        EXPECT_FALSE(is_down(bulk(flags))) << flags;
    }
    EXPECT_FALSE(is_down(kNil));
    EXPECT_FALSE(is_down(array({bulk("s_down")})));
}

TEST(SentinelReplies, RefusesAMalformedStateOfAMaster) {
    const auto ip = bulk("ip");
    const auto port = bulk("port");
    const auto epoch = bulk("config-epoch");
    const auto host = bulk("a");
    const auto zero = bulk("0");
    const auto one = bulk("1");
    ASSERT_TRUE(master(array({ip, host, port, one, epoch, zero})));
    for (const auto& text : {error("ERR No such master with that name"),
                             kNil,
                             std::string("*-1\r\n"),
                             number(1),
                             array({}),
                             array({ip, host, port, one}),
                             array({ip, host, epoch, zero}),
                             array({port, one, epoch, zero}),
                             array({ip, host, port, one, epoch}),
                             array({ip, kNil, port, one, epoch, zero}),
                             array({ip, bulk(""), port, one, epoch, zero}),
                             array({ip, host, port, zero, epoch, zero}),
                             array({ip, host, port, number(1), epoch, zero}),
                             array({ip, host, port, bulk("65536"), epoch, zero}),
                             array({ip, host, port, one, epoch, bulk("")}),
                             array({ip, host, port, one, epoch, bulk("-1")}),
                             array({ip, host, port, one, epoch, bulk("1x")}),
                             array({ip, host, port, one, epoch, bulk("18446744073709551615")}),
                             array({ip, host, port, one, epoch, array({one})}),
                             array({kNil, host, port, one, epoch, zero})}) {
        EXPECT_FALSE(master(text)) << text;
    }
}

TEST(SentinelReplies, ReadsRoles) {
    EXPECT_EQ(role(array({bulk("master"), number(0), array({})})), Role::kMaster);
    EXPECT_EQ(role(array({bulk("slave"), bulk("a"), number(1), bulk("connected"), number(0)})),
              Role::kReplica);
    EXPECT_EQ(role(array({bulk("sentinel"), array({bulk("mymaster")})})), Role::kSentinel);
    EXPECT_EQ(role(error("NOPERM this user has no permissions to run the 'role' command")),
              Role::kForbidden);
    EXPECT_EQ(role(error("ERR unknown command 'ROLE', with args beginning with: ")),
              Role::kForbidden);
}

TEST(SentinelReplies, DoesNotGuessARole) {
    for (const auto& text :
         {kNil, std::string("*-1\r\n"), number(1), bulk("master"), std::string("+master\r\n"),
          array({}), array({kNil}), array({number(1)}), array({array({bulk("master")})}),
          array({bulk("Master")}), array({bulk("")}), array({bulk("masters")}),
          error("NOAUTH Authentication required."), error("LOADING Redis is loading"),
          error("master"), error("ERR")}) {
        EXPECT_EQ(role(text), Role::kUnknown) << text;
    }
}

TEST(SentinelReplies, ReadsTheMessageOfASwitch) {
    const auto message = read_switched_master("mymaster 127.0.0.1 6379 ::1 6380");
    ASSERT_TRUE(message);
    EXPECT_EQ(message->name, "mymaster");
    EXPECT_EQ(message->deposed, (ServerAddress{"127.0.0.1", 6379}));
    EXPECT_EQ(message->address, (ServerAddress{"::1", 6380}));
}

TEST(SentinelReplies, RefusesAMalformedMessage) {
    for (const auto* text :
         {"", " ", "    ", "mymaster", "mymaster a 1", "mymaster a 1 b", " a 1 b 2", "a 1 b 2",
          "mymaster a 1 b 0", "mymaster a 1 b 65536", "mymaster a 1 b 99999999999999999999",
          "mymaster a 1 b x", "mymaster a 1  2", "mymaster a 1 b 2 ", "mymaster a 1 b:2",
          "mymaster a 1 b/c 2", "mymaster a 1 b\r\n 2", "mymaster a 1 b 2\r\n"}) {
        EXPECT_FALSE(read_switched_master(text)) << text;
    }
}

}  // namespace
}  // namespace tollgate::redis
