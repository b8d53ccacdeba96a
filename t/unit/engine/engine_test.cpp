// The parts of an engine that run without a request, and the wait lists.

#include "module/engine/engine.hpp"

#include "module/process/wait_list.hpp"
#include "t/unit/engine/engine_fixture.hpp"

namespace tollgate::engine {
namespace {

TEST_F(EngineTest, TheFirstWorkerPublishesThePlans) {
    Worker& first = start();
    Worker& second = start();
    first.engine.publish_plans();
    second.engine.publish_plans();
    run_for(5ms);
    EXPECT_EQ(redis.published, 1);
    first.transport.reachable = false;
    first.engine.publish_plans();
    run_for(5ms);
    EXPECT_EQ(redis.published, 1);
}

TEST_F(EngineTest, PlansOfNoTableAreNotPublished) {
    Worker& worker = start();
    for (ServedTable& table : served) {
        table.redis = 1;
    }
    worker.engine.publish_plans();
    EXPECT_EQ(worker.transport.calls, 0);
}

TEST_F(EngineTest, ARefusalToPublishIsLogged) {
    Worker& worker = start();
    worker.transport.replace_reply = [](const redis::Call& call) {
        return call.script == &redis::publish_script() ? std::optional("-NOPERM no keys\r\n")
                                                       : std::nullopt;
    };
    worker.engine.publish_plans();
    run_for(5ms);
    ASSERT_EQ(worker.log.lines.size(), 1U);
    EXPECT_EQ(worker.log.lines[0],
              "redis \"main\": plan tables are not published for the command: NOPERM no keys");
    worker.transport.choose_fate = [](const redis::Call&) {
        return SimulatedTransport::Fate::kNotExecuted;
    };
    worker.engine.publish_plans();
    run_for(1s);
    EXPECT_EQ(worker.log.lines.size(), 1U) << "the next connection publishes them";
}

TEST_F(EngineTest, ShortMemoryPublishesNothing) {
    Worker& worker = start();
    allocations_left = 0;
    worker.engine.publish_plans();
    worker.engine.report_error(0, "WRONGTYPE");
    allocations_left = -1;
    EXPECT_EQ(worker.transport.calls, 0);
    EXPECT_EQ(worker.log.critical, 2);
}

TEST_F(EngineTest, TheClockIsRedissWithinBounds) {
    redis_offset = 3h;
    add_key("k");
    Worker& worker = start();
    ask(worker, "k");
    const ClockBounds now = worker.engine.clock_bounds(0, worker.clock.steady());
    EXPECT_LE(now.earliest, worker.clock.wall() + 3h);
    EXPECT_GE(now.latest, worker.clock.wall() + 3h);
    EXPECT_LE(now.latest - now.earliest, 5ms);
}

TEST_F(EngineTest, TheLeastRecentlyUsedPlaceOfAMasterIsUsedAgain) {
    zone = std::make_unique<SimulatedZone>(7);
    const SharedRedis* first = &zone->redis(1);
    const SharedRedis* second = &zone->redis(2);
    EXPECT_NE(first, second);
    const SharedRedis* third = &zone->redis(3);
    EXPECT_NE(second, third);
    EXPECT_NE(third, first);
    ExactSteadyTime now = 1h;
    for (const std::uint32_t name : {2U, 1U, 3U}) {
        now += 1s;
        zone->observe_time(name, now, now, ExactInstant(1h));
    }
    SharedRedis* fourth = &zone->redis(4);
    EXPECT_EQ(fourth, second);
    EXPECT_EQ(fourth->clock.read().heard(), SteadyTime{}) << "nothing is known of the new master";
    EXPECT_EQ(&zone->redis(4), fourth);
    EXPECT_EQ(&zone->redis(1), first);
    EXPECT_EQ(&zone->redis(3), third);
    fourth->settled = 1s;
    EXPECT_EQ(&zone->redis(5), first) << "4 is a tollgate_redis";
}

TEST_F(EngineTest, ANodeIsNamedBySixteenDigits) {
    start();
    EXPECT_EQ(zone->node_name(), "0000000000000007");
    EXPECT_EQ(SimulatedZone(0xfedcba9876543210).node_name(), "fedcba9876543210");
}

struct Waiting : WaitLink<Waiting> {};

TEST(WaitListTest, KeepsTheOrderAndLetsAnyoneLeave) {
    WaitList<Waiting> list;
    std::array<Waiting, 3> waiting;
    for (Waiting& one : waiting) {
        list.push(one);
    }
    EXPECT_EQ(list.size(), 3U);
    waiting[1].leave_list();
    EXPECT_FALSE(waiting[1].is_in_list());
    {
        Waiting passing;
        list.push(passing);
        EXPECT_EQ(list.size(), 3U);
    }
    WaitList<Waiting> other(std::move(list));
    std::vector<Waiting*> order;
    other.drain([&](Waiting& one) { order.push_back(&one); });
    EXPECT_EQ(order, (std::vector<Waiting*>{waiting.data(), &waiting[2]}));
    EXPECT_TRUE(other.empty());
}

TEST(WaitListTest, LeavesWaitersAloneWhenItIsDestroyed) {
    Waiting one;
    {
        WaitList<Waiting> list;
        list.push(one);
    }
    EXPECT_FALSE(one.is_in_list());
}

}  // namespace
}  // namespace tollgate::engine
