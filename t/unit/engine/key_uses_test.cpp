// The last use of keys: what a node writes to Redis, and how often.

#include "module/engine/identity/key_uses.hpp"

#include "t/unit/engine/engine_fixture.hpp"

namespace tollgate::engine {
namespace {

class KeyUsesTest : public EngineTest {
  protected:
    KeyUsesTest() { tables[0].plans[0].rates = {{1'000'000, 3600s}}; }

    Instant wall(Worker& worker) { return worker.clock.wall(); }
    Instant minute(Worker& worker) {
        return std::chrono::floor<std::chrono::minutes>(wall(worker));
    }
    /// Runs until a new minute of the node's clock has begun.
    void next_minute(Worker& worker) {
        const Instant before = minute(worker);
        while (minute(worker) == before) {
            run_for(100ms);
        }
    }
    /// The last use in Redis; the epoch if there is none.
    Instant used(const std::string& id) {
        return redis.uses[settings.keys.used(id)][hex(sha256(id))];
    }
};

TEST_F(KeyUsesTest, IsWrittenASecondLater) {
    add_key("k");
    Worker& worker = start();
    const Instant now = minute(worker);
    ask(worker, "k");
    EXPECT_EQ(redis.use_calls, 0);
    run_for(1100ms);
    EXPECT_EQ(redis.use_calls, 1);
    EXPECT_EQ(used("k"), now);
}

TEST_F(KeyUsesTest, IsWrittenOnceAMinuteByOneWorkerOfTheNode) {
    add_key("k");
    Worker& first = start();
    Worker& second = start();
    next_minute(first);
    const auto use_both = [&] {
        for (int i = 0; i < 40; ++i) {
            EXPECT_EQ(ask(i % 2 == 0 ? first : second, "k").status(), 0);
            run_for(1s);
        }
    };
    use_both();
    EXPECT_EQ(redis.use_writes, 1);
    const Instant before = used("k");
    next_minute(first);
    use_both();
    EXPECT_EQ(redis.use_writes, 2);
    EXPECT_EQ(used("k"), before + 1min);
}

TEST_F(KeyUsesTest, AKeyThatASliceServesIsWritten) {
    add_key("k");
    Worker& worker = start();
    const auto run_minute = [&] {
        next_minute(worker);
        for (int i = 0; i < 5000; ++i) {
            EXPECT_EQ(ask(worker, "k").status(), 0);
        }
        run_for(1100ms);
        EXPECT_EQ(used("k"), minute(worker));
    };
    run_minute();
    const auto writes = redis.use_writes;
    run_minute();
    EXPECT_EQ(redis.use_writes, writes + 1);
    EXPECT_GT(statistics["quota_decisions.lease"].value(), 100);
}

TEST_F(KeyUsesTest, ARefusedRequestUsesItsKey) {
    tables[0].plans[0].rates = {{2, 3600s}};
    add_key("k");
    add_key("scope");
    Worker& worker = start();
    EXPECT_EQ(granted(worker, "k", 3), 2);
    next_minute(worker);
    EXPECT_EQ(ask(worker, "k").status(), 429);
    EXPECT_EQ(ask(worker, "scope", {.scopes = "admin"}).status(), 403);
    run_for(1100ms);
    EXPECT_EQ(used("k"), minute(worker));
    EXPECT_EQ(used("scope"), minute(worker));
}

TEST_F(KeyUsesTest, AKeyWithoutAQuotaIsWritten) {
    tables[0].plans[0].kind = Plan::Kind::kUnlimited;
    add_key("k");
    Worker& worker = start();
    next_minute(worker);
    EXPECT_EQ(granted(worker, "k", 20), 20);
    run_for(1100ms);
    EXPECT_EQ(used("k"), minute(worker));
    EXPECT_EQ(redis.use_writes, 1);
}

TEST_F(KeyUsesTest, AnInvalidKeyIsNotUsed) {
    add_key("disabled", "free", false);
    Worker& worker = start();
    EXPECT_EQ(ask(worker, "disabled").status(), 401);
    EXPECT_EQ(ask(worker, "unknown").status(), 401);
    EXPECT_EQ(ask(worker, std::nullopt).status(), 401);
    run_for(2s);
    EXPECT_EQ(redis.use_calls, 0);
}

TEST_F(KeyUsesTest, NothingIsSentWhileRedisIsUnreachable) {
    add_key("k");
    Worker& worker = start();
    next_minute(worker);
    EXPECT_EQ(ask(worker, "k").status(), 0);
    run_for(2s);
    ASSERT_EQ(redis.use_writes, 1);
    worker.transport.reachable = false;
    next_minute(worker);
    const Instant last = minute(worker);
    EXPECT_EQ(ask(worker, "k").outcome().verdict, Verdict::kDegraded);
    run_for(150s);
    EXPECT_EQ(redis.use_writes, 1);
    worker.transport.reachable = true;
    run_for(2s);
    EXPECT_EQ(redis.use_writes, 2);
    EXPECT_EQ(used("k"), last) << "with the time of the use";
}

TEST_F(KeyUsesTest, ALostCallIsFollowedByTheNextMinute) {
    add_key("k");
    Worker& worker = start();
    worker.transport.choose_fate = [](const redis::Call& call) {
        return call.script == &redis::use_script() ? SimulatedTransport::Fate::kNotExecuted
                                                   : SimulatedTransport::Fate::kAnswered;
    };
    EXPECT_EQ(ask(worker, "k").status(), 0);
    run_for(2s);
    EXPECT_EQ(redis.use_writes, 0);
    worker.transport.choose_fate = nullptr;
    next_minute(worker);
    EXPECT_EQ(ask(worker, "k").status(), 0);
    run_for(2s);
    EXPECT_EQ(used("k"), minute(worker));
}

TEST_F(KeyUsesTest, ManyKeysShareCallsAndAreSpread) {
    zone_size = std::size_t{4} << 20U;
    constexpr int kKeys = 1000;
    for (int i = 0; i < kKeys; ++i) {
        add_key("k" + std::to_string(i));
    }
    Worker& worker = start();
    next_minute(worker);
    for (int i = 0; i < kKeys; ++i) {
        begin(worker, "k" + std::to_string(i));
    }
    run_for(1050ms);
    EXPECT_EQ(redis.use_writes, 64) << "a turn sends one call";
    EXPECT_EQ(redis.use_calls, 1);
    run_for(800ms);
    EXPECT_EQ(redis.use_writes, 256);
    EXPECT_EQ(redis.use_calls, 4);
    run_for(4s);
    EXPECT_EQ(redis.use_writes, kKeys);
    EXPECT_LE(redis.use_calls, 17);
}

TEST_F(KeyUsesTest, TheKeysOfACallAreInOneSlot) {
    settings.is_cluster = true;
    for (int i = 0; i < 20; ++i) {
        add_key("k" + std::to_string(i));
    }
    Worker& worker = start();
    for (int i = 0; i < 20; ++i) {
        ask(worker, "k" + std::to_string(i));
    }
    worker.transport.unreachable_slots = {redis::key_slot("k7")};
    run_for(2s);
    EXPECT_TRUE(worker.transport.keys_are_in_slots);
    EXPECT_EQ(redis.use_writes, 19);
    worker.transport.unreachable_slots = {};
    run_for(2s);
    EXPECT_EQ(redis.use_writes, 20);
}

TEST_F(KeyUsesTest, AShutdownSendsTheRest) {
    add_key("k");
    Worker& worker = start();
    ask(worker, "k");
    worker.engine.shut_down();
    run_for(10ms);
    EXPECT_EQ(redis.use_writes, 1);
}

TEST_F(KeyUsesTest, AnErrorIsLoggedOnce) {
    add_key("k");
    Worker& worker = start();
    worker.transport.error_of = [](const redis::Call& call) {
        return call.script == &redis::use_script() ? "NOPERM no" : "";
    };
    for (int i = 0; i < 2; ++i) {
        EXPECT_EQ(ask(worker, "k").status(), 0);
        next_minute(worker);
    }
    ASSERT_EQ(worker.log.lines.size(), 1U);
    EXPECT_EQ(worker.log.lines[0],
              "redis \"main\": the last use of keys is not written: NOPERM no");
}

TEST_F(KeyUsesTest, RetiringKeysAreCountedOnceAMinute) {
    add_key("old");
    add_key("new");
    redis.records.at(settings.keys.key(hex(sha256("old")))).retiring = true;
    Worker& first = start();
    Worker& second = start();
    next_minute(first);
    for (int i = 0; i < 10; ++i) {
        ask(first, "old");
        ask(second, "old");
        ask(first, "new");
    }
    EXPECT_EQ(statistics["retiring_key_uses"].value(), 1);
    next_minute(first);
    ask(second, "old");
    EXPECT_EQ(statistics["retiring_key_uses"].value(), 2);
}

}  // namespace
}  // namespace tollgate::engine
