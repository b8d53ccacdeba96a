#include "t/unit/redis/topology_input.hpp"

#include <gtest/gtest.h>

#include <random>

#include "t/unit/redis/resp.hpp"

namespace tollgate::redis {
namespace {

using namespace resp;

TEST(TopologyInput, SurvivesDamagedReplies) {
    const std::vector<std::string> replies{
        array({array({number(0), number(16383), array({bulk("10.0.0.1"), number(7000)})})}),
        array({bulk("10.0.0.1"), bulk("7000")}),
        array({bulk("ip"), bulk("::1"), bulk("port"), bulk("1"), bulk("flags"), bulk("o_down"),
               bulk("config-epoch"), bulk("1")}),
        array({bulk("master"), number(0), array({})}),
        error("MOVED 1 [::1]:7000"),
        bulk("mymaster a 1 b 2"),
        bulk("[::1]:7000"),
    };
    const std::string_view alphabet = "*$:+-0123456789\r\n ?[]%{},x\xff";
    std::minstd_rand random(1);
    for (const auto& reply : replies) {
        const auto read = read_topology_input(reply);
        ASSERT_GT(read.accepted, 0) << reply;
        ASSERT_EQ(read.violation, "") << reply;
    }
    int accepted = 0;
    for (int round = 0; round < 20'000; ++round) {
        std::string bytes = replies[random() % replies.size()];
        for (auto changes = random() % 4; changes > 0; --changes) {
            bytes[random() % bytes.size()] = alphabet[random() % alphabet.size()];
        }
        if (random() % 4 == 0) {
            const auto at = random() % bytes.size();
            bytes.insert(at, bytes.substr(random() % bytes.size(), random() % 10));
        }
        const auto read = read_topology_input(bytes);
        ASSERT_EQ(read.violation, "") << bytes;
        accepted += read.accepted;
    }
    EXPECT_GT(accepted, 1000);
}

}  // namespace
}  // namespace tollgate::redis
