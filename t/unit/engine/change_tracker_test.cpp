// How a worker catches up with changes of keys after it has lost its subscription.

#include "module/engine/identity/change_tracker.hpp"

#include "module/redis/protocol/changed_names.hpp"
#include "t/unit/engine/engine_fixture.hpp"

namespace tollgate::engine {
namespace {

class ChangeTrackerTest : public EngineTest {
  protected:
    /// A worker that has cached the keys "a" and "b".
    Worker& start_with_keys() {
        add_key("a");
        add_key("b");
        redis.changes.emplace();
        Worker& worker = start();
        run_for(10ms);
        ask(worker, "a");
        ask(worker, "b");
        run_for(5min);
        ask(worker, "a");
        ask(worker, "b");
        run_for(2s);  // Without a subscription, they hold for a second.
        return worker;
    }
    /// The record of a key changes. A worker without a subscription does not hear of it.
    void change(const std::string& id) {
        redis.changes->emplace_back(id, workers.front()->clock.wall());
        run_for(1ms);
    }
    /// Other records change, so many in each ms. A worker without a subscription does not hear of
    /// it.
    void change_others(int number, int each_ms) {
        const Instant now = workers.front()->clock.wall();
        for (int i = 0; i < number; ++i) {
            redis.changes->emplace_back("other" + std::to_string(redis.changes->size()),
                                        now + std::chrono::milliseconds(i / each_ms));
        }
        run_for(std::chrono::milliseconds(number / each_ms + 1));
    }
    void resubscribe(Worker& worker) {
        worker.engine.identity().changes.on_subscribed(false);
        run_for(500ms);
        worker.engine.identity().changes.on_subscribed(true);
    }
    static std::optional<SteadyTime> complete_since(Worker& worker) {
        return worker.engine.identity().changes.complete_since(worker.engine.steady_time());
    }
    /// The number of look-ups that a request for each key needs.
    std::uint64_t lookups(Worker& worker) {
        const auto before = statistics["commands.lookup"].value();
        ask(worker, "a");
        ask(worker, "b");
        return statistics["commands.lookup"].value() - before;
    }
};

TEST_F(ChangeTrackerTest, OnlyChangedKeysAreLookedUpAgain) {
    Worker& worker = start_with_keys();
    worker.engine.identity().changes.on_subscribed(false);
    run_for(400ms);
    change("b");
    EXPECT_EQ(complete_since(worker), std::nullopt);
    worker.engine.identity().changes.on_subscribed(true);
    EXPECT_EQ(complete_since(worker), std::nullopt) << "not yet read";
    run_for(10ms);
    EXPECT_EQ(redis.changes_read, 1);
    EXPECT_EQ(lookups(worker), 1U);
}

TEST_F(ChangeTrackerTest, AllKeysAreLookedUpAgainIfNobodyRecordsChanges) {
    Worker& worker = start_with_keys();
    redis.changes.reset();
    resubscribe(worker);
    run_for(10ms);
    EXPECT_EQ(lookups(worker), 2U);
    EXPECT_EQ(lookups(worker), 0U);
}

TEST_F(ChangeTrackerTest, AllKeysAreLookedUpAgainAfterAnHour) {
    Worker& worker = start_with_keys();
    worker.engine.identity().changes.on_subscribed(false);
    run_for(59min);
    lookups(worker);
    run_for(2s);
    worker.engine.identity().changes.on_subscribed(true);
    run_for(10ms);
    EXPECT_EQ(redis.changes_read, 0);
    EXPECT_EQ(lookups(worker), 2U);
}

TEST_F(ChangeTrackerTest, AllKeysAreLookedUpAgainIfTooManyHaveChanged) {
    Worker& worker = start_with_keys();
    change_others(10000, 10);
    const SteadyTime began = worker.engine.steady_time();
    resubscribe(worker);
    run_for(100ms);
    EXPECT_EQ(redis.changes_read, 25);
    EXPECT_GT(complete_since(worker), began);
    EXPECT_EQ(lookups(worker), 2U);
    EXPECT_EQ(lookups(worker), 0U);
}

TEST_F(ChangeTrackerTest, ManyMissedChangesAreReadInParts) {
    Worker& worker = start_with_keys();
    worker.engine.identity().changes.on_subscribed(false);
    const SteadyTime began = worker.engine.steady_time();
    change_others(450, 300);
    change("b");
    change_others(450, 300);
    worker.engine.identity().changes.on_subscribed(true);
    EXPECT_EQ(complete_since(worker), std::nullopt);
    run_for(50ms);
    EXPECT_EQ(redis.changes_read, 4) << "a part begins in the ms in which the one before ended";
    EXPECT_LT(complete_since(worker), began) << "nothing is forgotten";
    worker.transport.reachable = false;
    EXPECT_EQ(ask(worker, "b").status(), 503) << "it may have been revoked";
}

TEST_F(ChangeTrackerTest, AllKeysAreLookedUpAgainIfTooManyHaveChangedAtOnce) {
    Worker& worker = start_with_keys();
    change_others(400, 400);
    const SteadyTime began = worker.engine.steady_time();
    resubscribe(worker);
    run_for(50ms);
    EXPECT_EQ(redis.changes_read, 2);
    EXPECT_GT(complete_since(worker), began);
}

TEST_F(ChangeTrackerTest, APartThatCannotBeReadIsReadLater) {
    Worker& worker = start_with_keys();
    change_others(450, 10);
    resubscribe(worker);
    while (redis.changes_read == 0) {
        timeline.run_until(timeline.now() + 10us);
    }
    worker.transport.reachable = false;
    run_for(300ms);
    EXPECT_EQ(complete_since(worker), std::nullopt);
    worker.transport.reachable = true;
    run_for(300ms);
    EXPECT_NE(complete_since(worker), std::nullopt);
}

TEST_F(ChangeTrackerTest, ReadsAgainUntilRedisAnswers) {
    Worker& worker = start_with_keys();
    worker.transport.reachable = false;
    resubscribe(worker);
    change("b");
    run_for(2s);
    EXPECT_EQ(complete_since(worker), std::nullopt);
    worker.transport.reachable = true;
    run_for(300ms);
    EXPECT_NE(complete_since(worker), std::nullopt);
    EXPECT_EQ(lookups(worker), 1U);
}

TEST_F(ChangeTrackerTest, ALossWhileChangesAreReadExtendsTheFirstOne) {
    Worker& worker = start_with_keys();
    worker.transport.reachable = false;
    resubscribe(worker);
    change("b");
    run_for(10min);
    ask(worker, "a");
    resubscribe(worker);
    worker.transport.reachable = true;
    run_for(300ms);
    EXPECT_EQ(redis.changes_read, 1);
    EXPECT_EQ(lookups(worker), 2U) << "b has changed; a is older than key_cache";
    EXPECT_NE(complete_since(worker), std::nullopt);
}

TEST_F(ChangeTrackerTest, AKeyThatWasLookedUpAfterItChangedIsServedInAnOutage) {
    Worker& worker = start_with_keys();
    change("a");
    worker.engine.identity().changes.on_change("a");
    run_for(5s);
    EXPECT_EQ(lookups(worker), 1U) << "a has changed";
    resubscribe(worker);
    run_for(10ms);
    EXPECT_EQ(redis.changes_read, 1);
    worker.transport.reachable = false;
    EXPECT_EQ(ask(worker, "a").outcome().verdict, Verdict::kDegraded);
    worker.transport.reachable = true;
    EXPECT_EQ(lookups(worker), 1U) << "it is looked up again when Redis is reachable";
}

TEST_F(ChangeTrackerTest, AKeyThatIsLookedUpAsSoonAsItsChangeIsAnnouncedIsServedInAnOutage) {
    Worker& worker = start_with_keys();
    change("a");
    worker.engine.identity().changes.on_change("a");
    run_for(5ms);
    EXPECT_EQ(lookups(worker), 1U) << "a has changed";
    run_for(40s);  // Meanwhile the clocks may drift apart by 40 ms.
    resubscribe(worker);
    run_for(10ms);
    EXPECT_EQ(redis.changes_read, 1);
    worker.transport.reachable = false;
    EXPECT_EQ(ask(worker, "a").outcome().verdict, Verdict::kDegraded);
}

TEST_F(ChangeTrackerTest, ASecondChangeThatWasMissedIsNoticed) {
    Worker& worker = start_with_keys();
    change("a");
    worker.engine.identity().changes.on_change("a");
    run_for(5ms);
    lookups(worker);
    run_for(20s);
    worker.engine.identity().changes.on_subscribed(false);
    redis.changes->clear();
    change("a");
    run_for(500ms);
    worker.engine.identity().changes.on_subscribed(true);
    run_for(10ms);
    worker.transport.reachable = false;
    EXPECT_EQ(ask(worker, "a").status(), 503) << "it may have been revoked";
}

TEST_F(ChangeTrackerTest, KeysThatDidNotChangeAreServedInAnOutageAfterManyChanges) {
    Worker& worker = start_with_keys();
    for (int i = 0; i < 60; ++i) {
        worker.engine.identity().changes.on_change("other" + std::to_string(i));
    }
    worker.transport.reachable = false;
    EXPECT_EQ(ask(worker, "a").outcome().verdict, Verdict::kDegraded);
    EXPECT_EQ(ask(worker, "b").outcome().verdict, Verdict::kDegraded);
}

TEST_F(ChangeTrackerTest, AKeyThatChangedAfterItsLookUpIsNotServedInAnOutage) {
    Worker& worker = start_with_keys();
    worker.engine.identity().changes.on_subscribed(false);
    change("a");
    run_for(500ms);
    worker.engine.identity().changes.on_subscribed(true);
    run_for(10ms);
    worker.transport.reachable = false;
    EXPECT_EQ(ask(worker, "a").status(), 503) << "it may have been revoked";
    EXPECT_EQ(ask(worker, "b").outcome().verdict, Verdict::kDegraded);
}

TEST_F(ChangeTrackerTest, AWorkerThatCannotTellWhatChangedMakesAllWorkersAskAgain) {
    Worker& worker = start_with_keys();
    Worker& other = start();
    run_for(10ms);
    EXPECT_EQ(lookups(worker), 2U) << "a new worker does not know what the one before it missed";
    run_for(2s);
    redis.changes.reset();
    resubscribe(other);
    run_for(10ms);
    EXPECT_EQ(lookups(worker), 2U);
    EXPECT_EQ(lookups(other), 0U);
}

TEST_F(ChangeTrackerTest, ALookUpAtAFormerMasterIsNotNewerThanTheMove) {
    Worker& worker = start_with_keys();
    Worker& late = start();
    run_for(10ms);
    change_others(400, 400);
    change("a");
    worker.engine.identity().changes.on_moved(1);
    run_for(10ms);
    EXPECT_EQ(redis.changes_read, 2);
    // This worker asks the former master, which does not know of the change.
    EXPECT_EQ(lookups(late), 2U);
    run_for(200ms);
    late.engine.identity().changes.on_moved(1);
    run_for(2s);
    EXPECT_EQ(redis.changes_read, 4);
    EXPECT_EQ(lookups(worker), 2U);
}

TEST_F(ChangeTrackerTest, AMoveReadsTheChangesOfAnHour) {
    Worker& worker = start_with_keys();
    change("b");
    run_for(20min);
    lookups(worker);
    worker.engine.identity().changes.on_moved(1);
    EXPECT_EQ(complete_since(worker), std::nullopt);
    run_for(10ms);
    EXPECT_EQ(redis.changes_read, 1);
    EXPECT_EQ(lookups(worker), 1U) << "the former master may have been deposed for long";
}

TEST_F(ChangeTrackerTest, WhatIsReadOfAFormerMasterIsReadAgain) {
    Worker& worker = start_with_keys();
    worker.transport.reachable = false;
    resubscribe(worker);
    worker.engine.identity().changes.on_moved(1);
    run_for(10ms);
    worker.engine.identity().changes.on_subscribed(false);
    worker.engine.identity().changes.on_moved(1);
    EXPECT_EQ(complete_since(worker), std::nullopt);
    worker.transport.reachable = true;
    run_for(1s);
    EXPECT_EQ(redis.changes_read, 0) << "not while the subscription is lost";
    worker.engine.identity().changes.on_subscribed(true);
    run_for(10ms);
    EXPECT_EQ(redis.changes_read, 1);
    EXPECT_NE(complete_since(worker), std::nullopt);
}

TEST_F(ChangeTrackerTest, ARefusalIsLogged) {
    Worker& worker = start_with_keys();
    worker.transport.replace_reply = [](const redis::Call& call) {
        return call.script == &redis::changes_script() ? std::optional("-NOPERM no keys\r\n")
                                                       : std::nullopt;
    };
    resubscribe(worker);
    run_for(10ms);
    EXPECT_EQ(worker.log.lines,
              (std::vector<std::string>{"redis \"main\": missed changes cannot be read; all cached "
                                        "keys are looked up again: NOPERM no keys"}));
    EXPECT_EQ(lookups(worker), 2U);
}

TEST_F(ChangeTrackerTest, ShortMemoryForgetsAllKeys) {
    Worker& worker = start_with_keys();
    for (int i = 0; i < 20; ++i) {
        worker.engine.identity().changes.on_subscribed(false);
        allocations_left = i;
        worker.engine.identity().changes.on_subscribed(true);
        allocations_left = -1;
        worker.transport.allocations_of_replies = i / 4;
        run_for(10ms);
        worker.transport.allocations_of_replies = -1;
        EXPECT_NE(complete_since(worker), std::nullopt) << i;
    }
    EXPECT_GT(worker.log.critical, 0);
}

TEST(ChangedNames, AreReadFromAReply) {
    const auto read = [](const std::string& text) {
        redis::ReplyReader reader;
        reader.feed(text);
        const auto reply = reader.next();
        const auto changed = redis::read_changed_names(redis::elements_of(*reply));
        if (!changed) {
            return std::vector<std::string>{"none"};
        }
        std::vector<std::string> found;
        for (const auto& [name, age] : changed->names) {
            found.emplace_back(std::string(name) + " " + std::to_string(age.count()));
        }
        if (changed->next) {
            found.emplace_back("next " + std::string(*changed->next));
        }
        return found;
    };
    using Names = std::vector<std::string>;
    EXPECT_EQ(read("*2\r\n:1\r\n*4\r\n$1\r\na\r\n:5\r\n$2\r\nbc\r\n:0\r\n"),
              (Names{"a 5", "bc 0"}));
    EXPECT_EQ(read("*2\r\n:1\r\n*0\r\n"), Names());
    EXPECT_EQ(read("*3\r\n:1\r\n*2\r\n$1\r\na\r\n:5\r\n$2\r\n12\r\n"), (Names{"a 5", "next 12"}));
    for (const auto* text :
         {"*2\r\n:0\r\n*0\r\n", "*3\r\n:1\r\n*0\r\n:5\r\n", "*2\r\n:1\r\n*1\r\n:1\r\n",
          "*1\r\n:1\r\n", "*0\r\n", "*2\r\n$1\r\n1\r\n*0\r\n", "*2\r\n:1\r\n$1\r\na\r\n",
          "*2\r\n:1\r\n*1\r\n$1\r\na\r\n", "*2\r\n:1\r\n*2\r\n$1\r\na\r\n$1\r\nb\r\n",
          "*2\r\n:1\r\n*2\r\n$1\r\na\r\n:-1\r\n"}) {
        EXPECT_EQ(read(text), Names{"none"}) << text;
    }
}

}  // namespace
}  // namespace tollgate::engine
