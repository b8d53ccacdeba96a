#include "module/redis/topology/presence.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace tollgate::redis {
namespace {

const ServerAddress kOld{"10.0.0.1", 6379};
const ServerAddress kNew{"10.0.0.2", 6379};

MasterState state(const ServerAddress& address, std::int64_t epoch, bool is_failing_over = false) {
    return {.address = address, .config_epoch = epoch, .is_failing_over = is_failing_over};
}

TEST(AgreeOnMaster, IsPresentIfMoreThanHalfOfTheSentinelsNameIt) {
    const std::vector<MasterState> answers{state(kOld, 1), state(kOld, 1)};
    EXPECT_EQ(agree_on_master(answers, 3, kOld).presence, Presence::kPresent);
    EXPECT_EQ(agree_on_master(answers, 4, kOld).presence, Presence::kUnknown);
    EXPECT_EQ(agree_on_master({}, 1, kOld).presence, Presence::kUnknown);
}

TEST(AgreeOnMaster, BelievesTheLastFailover) {
    const std::vector<MasterState> answers{state(kOld, 1), state(kNew, 2), state(kOld, 1)};
    const auto agreement = agree_on_master(answers, 3, kOld);
    EXPECT_EQ(agreement.presence, Presence::kReplaced);
    EXPECT_EQ(agreement.other, kNew);
    EXPECT_EQ(agree_on_master(answers, 3, kNew).presence, Presence::kPresent);
}

TEST(AgreeOnMaster, BelievesAFailoverThatHasNotEndedOfTheSameEpoch) {
    const std::vector<MasterState> answers{state(kOld, 2), state(kNew, 2)};
    EXPECT_EQ(agree_on_master(answers, 2, kOld).presence, Presence::kReplaced);
}

TEST(AgreeOnMaster, IsNotDecidedWhileASentinelPromotesAReplica) {
    const std::vector<MasterState> answers{state(kOld, 1), state(kOld, 1, true)};
    EXPECT_EQ(agree_on_master(answers, 2, kOld).presence, std::nullopt);
}

TEST(IsMasterOfAll, RequiresEachSlotOfEachServer) {
    SlotMap map;
    map.assign(0, 99, kOld);
    map.assign(100, kSlots - 1, kNew);
    EXPECT_TRUE(is_master_of_all(map, {{kOld, {0, 99}}, {kNew, {100}}}));
    EXPECT_FALSE(is_master_of_all(map, {{kOld, {0, 100}}}));
    EXPECT_FALSE(is_master_of_all(SlotMap(), {{kOld, {0}}}));
    EXPECT_TRUE(is_master_of_all(SlotMap(), {}));
}

TEST(AgreeOnSlots, WaitsForAMinorityThatDisagrees) {
    EXPECT_EQ(agree_on_slots(3, 3, 0, false), Presence::kPresent);
    EXPECT_EQ(agree_on_slots(3, 2, 0, false), Presence::kPresent);
    EXPECT_EQ(agree_on_slots(3, 2, 1, false), std::nullopt);
    EXPECT_EQ(agree_on_slots(3, 2, 1, true), Presence::kPresent);
}

TEST(AgreeOnSlots, IsReplacedIfTheMajorityDisagrees) {
    EXPECT_EQ(agree_on_slots(3, 1, 2, false), Presence::kReplaced);
    EXPECT_EQ(agree_on_slots(3, 0, 1, true), Presence::kReplaced);
}

TEST(AgreeOnSlots, IsUnknownIfTooFewAnswer) {
    EXPECT_EQ(agree_on_slots(3, 1, 0, false), Presence::kUnknown);
    EXPECT_EQ(agree_on_slots(3, 0, 0, true), Presence::kUnknown);
}

}  // namespace
}  // namespace tollgate::redis
