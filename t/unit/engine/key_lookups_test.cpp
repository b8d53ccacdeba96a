// Look-ups of keys: shared calls, their order, and their end.

#include "module/engine/identity/key_lookups.hpp"

#include "module/engine/identity/group_finder.hpp"
#include "t/unit/engine/engine_fixture.hpp"

namespace tollgate::engine {
namespace {

class KeyLookupsTest : public EngineTest {
  protected:
    /// Waits for a record, outside of any request.
    struct Waiter final : LookupWaiter {
        bool on_turn() noexcept override {
            ++turns;
            return needs;
        }
        void on_record(const redis::Lookup& lookup, SteadyTime sent) noexcept override {
            ++records;
            last_sent = sent;
            outcome = lookup.outcome;
        }
        void on_lookup_failed() noexcept override { ++failures; }

        bool needs = true;
        int turns = 0;
        int records = 0;
        int failures = 0;
        redis::Lookup::Outcome outcome{};
        SteadyTime last_sent{};
    };

    static KeyDigest digest(int n) { return sha256("key" + std::to_string(n)); }
    using Priority = KeyLookups::Priority;
};

TEST_F(KeyLookupsTest, WaitersOfOneKeyShareACall) {
    Worker& worker = start();
    std::array<Waiter, 5> waiters;
    for (Waiter& waiter : waiters) {
        worker.engine.identity().lookups.submit(waiter, digest(1), Priority::kUnknown);
    }
    run_for(5ms);
    EXPECT_EQ(worker.transport.calls, 1);
    for (const Waiter& waiter : waiters) {
        EXPECT_EQ(waiter.records, 1);
    }
    EXPECT_EQ(waiters[0].turns, 1) << "the first is asked";
    EXPECT_EQ(waiters[1].turns, 0);
}

TEST_F(KeyLookupsTest, TellTheTimeOfTheCall) {
    Worker& worker = start();
    Waiter waiter;
    const SteadyTime before = worker.engine.steady_time();
    worker.engine.identity().lookups.submit(waiter, digest(1), Priority::kUnknown);
    run_for(5ms);
    ASSERT_EQ(waiter.records, 1);
    EXPECT_EQ(waiter.last_sent, before);
    EXPECT_LT(waiter.last_sent, worker.engine.steady_time());
    // A group's record is stored with this time, if its place in the zone was lost meanwhile: it
    // does not hide a change that was announced during the call.
    GroupFinder finder(worker.engine.identity(), worker.tables);
    KeyRecord key;
    key.id = "k";
    key.group = "acme";
    EXPECT_FALSE(finder.find(key));
    finder.accept(redis::Lookup{}, waiter.last_sent);
    EXPECT_EQ(finder.checked(), before);
}

TEST_F(KeyLookupsTest, AtMost64AreUnderWayAndKnownKeysGoFirst) {
    Worker& worker = start();
    std::deque<Waiter> waiters(101);
    for (int i = 0; i < 100; ++i) {
        worker.engine.identity().lookups.submit(waiters[static_cast<std::size_t>(i)], digest(i),
                                                Priority::kUnknown);
    }
    EXPECT_EQ(worker.transport.calls, 64);
    worker.engine.identity().lookups.submit(waiters[100], digest(100), Priority::kKnown);
    EXPECT_EQ(worker.transport.calls, 64);
    std::vector<int> order;
    run_for(2ms);
    EXPECT_EQ(waiters[100].turns, 1);
    run_for(10ms);
    EXPECT_EQ(worker.transport.calls, 101);
    for (const Waiter& waiter : waiters) {
        EXPECT_EQ(waiter.records, 1);
    }
}

TEST_F(KeyLookupsTest, AQueuedLookUpWithoutWaitersIsNotSent) {
    Worker& worker = start();
    std::deque<Waiter> waiters(66);
    for (int i = 0; i < 66; ++i) {
        worker.engine.identity().lookups.submit(waiters[static_cast<std::size_t>(i)], digest(i),
                                                Priority::kUnknown);
    }
    waiters[64].leave_lookup();
    waiters[65].needs = false;
    run_for(10ms);
    EXPECT_EQ(worker.transport.calls, 64);
    EXPECT_EQ(waiters[64].records + waiters[64].failures, 0);
    EXPECT_EQ(waiters[65].records + waiters[65].failures, 0);
}

TEST_F(KeyLookupsTest, TheNextWaiterIsAskedWhereTheFirstNeedsItNoMore) {
    Worker& worker = start();
    std::deque<Waiter> others(64);
    for (int i = 0; i < 64; ++i) {
        worker.engine.identity().lookups.submit(others[static_cast<std::size_t>(i)], digest(i),
                                                Priority::kUnknown);
    }
    Waiter first;
    Waiter second;
    first.needs = false;
    worker.engine.identity().lookups.submit(first, digest(100), Priority::kUnknown);
    worker.engine.identity().lookups.submit(second, digest(100), Priority::kUnknown);
    run_for(10ms);
    EXPECT_EQ(first.records, 0);
    EXPECT_EQ(second.records, 1);
}

TEST_F(KeyLookupsTest, AWaiterMayBeDestroyedAtAnyTime) {
    Worker& worker = start();
    auto gone = std::make_unique<Waiter>();
    Waiter stays;
    worker.engine.identity().lookups.submit(*gone, digest(1), Priority::kKnown);
    worker.engine.identity().lookups.submit(stays, digest(1), Priority::kKnown);
    gone.reset();
    run_for(5ms);
    EXPECT_EQ(stays.records, 1);
}

TEST_F(KeyLookupsTest, ALookUpThatAChangeOvertakesIsRepeatedOnce) {
    add_key("k");
    Worker& worker = start();
    Waiter waiter;
    worker.transport.delay = [&] {
        worker.engine.identity().changes.on_change("k");
        return 1ms;
    };
    worker.engine.identity().lookups.submit(waiter, sha256("k"), Priority::kKnown);
    run_for(20ms);
    EXPECT_EQ(waiter.records, 1);
    EXPECT_EQ(worker.transport.calls, 2);
}

TEST_F(KeyLookupsTest, AMalformedRecordIsLoggedAndRefused) {
    add_key("not an id!");
    Worker& worker = start();
    EXPECT_EQ(ask(worker, "not an id!").status(), 401) << "no b64token";
    add_key("k");
    redis.records[settings.keys.key(hex(sha256("k")))].id = "not an id!";
    EXPECT_EQ(ask(worker, "k").status(), 401);
    ASSERT_EQ(worker.log.lines.size(), 1U);
    EXPECT_TRUE(worker.log.lines[0].starts_with("redis \"main\": malformed record of a key"));
}

TEST_F(KeyLookupsTest, AReplyThatIsNoRecordFailsTheLookUp) {
    Worker& worker = start();
    for (const char* reply : {"*1\r\n$1\r\nx\r\n", "-ERR unknown command\r\n"}) {
        worker.transport.replace_reply = [reply](const redis::Call&) { return reply; };
        Waiter waiter;
        worker.engine.identity().lookups.submit(waiter, digest(1), Priority::kKnown);
        run_for(5ms);
        EXPECT_EQ(waiter.failures, 1) << reply;
    }
}

TEST_F(KeyLookupsTest, ATimeOutFailsAllLookUps) {
    Worker& worker = start();
    worker.transport.choose_fate = [](const redis::Call&) {
        return SimulatedTransport::Fate::kNotExecuted;
    };
    std::deque<Waiter> waiters(70);
    for (int i = 0; i < 70; ++i) {
        worker.engine.identity().lookups.submit(waiters[static_cast<std::size_t>(i)], digest(i),
                                                Priority::kUnknown);
    }
    worker.transport.open_for = [] { return 10s; };
    run_for(1s);
    for (const Waiter& waiter : waiters) {
        EXPECT_EQ(waiter.failures, 1);
    }
}

TEST_F(KeyLookupsTest, NothingIsSentWhileRedisIsUnreachable) {
    Worker& worker = start();
    worker.transport.reachable = false;
    Waiter waiter;
    worker.engine.identity().lookups.submit(waiter, digest(1), Priority::kKnown);
    EXPECT_EQ(waiter.failures, 1) << "at once";
    EXPECT_EQ(worker.transport.calls, 0);
}

/// A transport that drops a handler without calling it.
TEST_F(KeyLookupsTest, ACallThatIsDroppedFailsItsLookUpAtTheEndOfTheTurn) {
    Worker& worker = start();
    worker.transport.drops_handlers = true;
    Waiter waiter;
    worker.engine.identity().lookups.submit(waiter, digest(1), Priority::kKnown);
    EXPECT_EQ(waiter.failures, 0);
    worker.transport.drops_handlers = false;
    run_for(0ms);
    EXPECT_EQ(waiter.failures, 1);
}

TEST_F(KeyLookupsTest, ShortMemoryFailsALookUp) {
    add_key("k");
    Worker& worker = start();
    int records = 0;
    for (int n = 0; n < 40; ++n) {
        Waiter waiter;
        allocations_left = n;
        bool is_submitted = false;
        try {
            worker.engine.identity().lookups.submit(waiter, sha256("k"), Priority::kKnown);
            is_submitted = true;
        } catch (const std::bad_alloc&) {
        }
        allocations_left = -1;
        run_for(5ms);
        ASSERT_EQ(waiter.records + waiter.failures, is_submitted ? 1 : 0) << n;
        records += waiter.records;
    }
    EXPECT_GT(records, 0);
}

}  // namespace
}  // namespace tollgate::engine
