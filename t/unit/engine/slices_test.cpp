// A worker grants and refuses requests of known keys in its own memory.

#include "module/engine/quota/slices.hpp"
#include "module/engine/quota/slice_recovery.hpp"

#include "t/unit/engine/engine_fixture.hpp"

namespace tollgate::engine {
namespace {

class SlicesTest : public EngineTest {
  protected:
    SlicesTest() {
        tables[0].plans[0].rates = {{1'000'000, 3600s}};
        add_key("k");
    }

    /// One request each ms. Returns how many are granted.
    int granted_for(Worker& worker, const std::string& key, std::chrono::milliseconds time) {
        int granted = 0;
        for (auto end = timeline.now() + time; timeline.now() < end; run_for(1ms)) {
            granted += ask(worker, key).status() == 0 ? 1 : 0;
        }
        return granted;
    }
    int locks_of(const std::function<void()>& code) {
        const int before = zone->locks();
        code();
        return zone->locks() - before;
    }
    std::int64_t leased_in_zone() { return state("k").lease; }
};

TEST_F(SlicesTest, ABusyKeyRarelyTakesTheLock) {
    Worker& worker = start();
    granted_for(worker, "k", 2s);
    int granted = 0;
    const int locks = locks_of([&] { granted = granted_for(worker, "k", 1s); });
    EXPECT_GT(granted, 900);
    // About twenty slices, as many looks for ended ones, and the acquires of twenty leases.
    EXPECT_LT(locks, 150);
    EXPECT_GT(statistics["quota_decisions.lease"].value(), 2500U);
}

TEST_F(SlicesTest, ASliceThatIsIdleGoesBackToTheZoneAndThenToRedis) {
    Worker& worker = start();
    const int granted = granted_for(worker, "k", 2s);
    const auto in_zone = leased_in_zone();
    run_for(160ms);
    EXPECT_GT(leased_in_zone(), in_zone) << "back in the zone";
    run_for(4s);
    EXPECT_EQ(leased_in_zone(), 0);
    EXPECT_EQ(counted("k"), granted) << "back in Redis";
}

// A client that waits for the window would not use the units of the slice.
TEST_F(SlicesTest, ARefusalSaysWhenTheSliceOfAnotherWorkerComesBack) {
    tables[0].plans[0].rates = {{2200, 3600s}};
    Worker& first = start();
    Worker& second = start();
    int granted = granted_for(first, "k", 2s);
    const Request* refused = nullptr;
    while (refused == nullptr) {
        const Request& request = ask(second, "k");
        granted += request.status() == 0 ? 1 : 0;
        refused = request.status() == 0 ? nullptr : &request;
    }
    ASSERT_LT(granted, 2200) << "the first worker has a slice";
    EXPECT_EQ(refused->outcome().retry_after, 1);
    run_for(std::chrono::seconds(refused->outcome().retry_after));
    granted += granted_for(second, "k", 200ms);
    EXPECT_EQ(granted, 2200) << "the units have come back";
    EXPECT_GT(ask(second, "k").outcome().retry_after, 3);
}

TEST_F(SlicesTest, ARefusalOfTheOnlyWorkerWaitsForTheWindow) {
    tables[0].plans[0].rates = {{3000, 3600s}};
    Worker& worker = start();
    EXPECT_EQ(granted_for(worker, "k", 4s), 3000);
    EXPECT_GT(ask(worker, "k").outcome().retry_after, 3);
}

TEST_F(SlicesTest, ARefusalSaysWhenTheSliceOfAnotherKeyOfTheIdComesBack) {
    tables[0].plans[0].rates = {{2200, 3600s}};
    add_key("l");
    redis.records.at(settings.keys.key(hex(sha256("l")))).id = "k";
    Worker& worker = start();
    int granted = granted_for(worker, "k", 2s);
    while (counted("k") - leased_in_zone() < granted + 3) {
        granted += granted_for(worker, "k", 1ms);
    }
    requests.clear();
    for (int i = 0; i < 300; ++i) {
        begin(worker, "l");
    }
    run_for(10ms);
    for (const auto& request : requests) {
        granted += request->status() == 0 ? 1 : 0;
    }
    ASSERT_LT(granted, 2200) << "the other key has a slice";
    EXPECT_EQ(requests.back()->outcome().retry_after, 1);
    run_for(1s);
    granted += granted_for(worker, "l", 200ms);
    EXPECT_EQ(granted, 2200) << "the units have come back";
    EXPECT_GT(ask(worker, "l").outcome().retry_after, 3);
}

TEST_F(SlicesTest, AShutdownPutsSlicesBackAndTakesNoMore) {
    Worker& worker = start();
    int granted = granted_for(worker, "k", 2s);
    worker.process.exiting = true;
    worker.engine.shut_down();
    run_for(50ms);
    EXPECT_EQ(counted("k"), granted);
    granted += granted_for(worker, "k", 200ms);
    run_for(50ms);
    EXPECT_EQ(counted("k"), granted);
}

TEST_F(SlicesTest, AChangeThatAnotherWorkerLearnsEndsTheSliceAtOnce) {
    Worker& worker = start();
    Worker& other = start();
    granted_for(worker, "k", 2s);
    add_key("k", "free", false);
    run_for(1ms);
    other.engine.identity().changes.on_change("k");
    EXPECT_EQ(ask(worker, "k").status(), 401);
}

TEST_F(SlicesTest, ARecallReturnsTheLeaseAndTheSlicesOfAllWorkers) {
    Worker& one = start();
    Worker& two = start();
    int granted = granted_for(one, "k", 2s) + granted_for(two, "k", 1s) + granted_for(one, "k", 1s);
    ASSERT_GT(counted("k"), granted);
    two.engine.on_event("recall:k");  // A node has one subscription.
    run_for(12ms);
    EXPECT_EQ(counted("k") - leased_in_zone(), granted) << "nothing is left in slices";
    run_for(98ms);
    EXPECT_EQ(counted("k"), granted) << "back in Redis";
    granted += granted_for(one, "k", 850ms);
    EXPECT_EQ(leased_in_zone(), 0) << "nothing is leased for a second";
    EXPECT_EQ(counted("k"), granted);
    granted_for(one, "k", 200ms);
    EXPECT_GT(leased_in_zone(), 0) << "and then again";
    EXPECT_EQ(statistics["leases_recalled"].value(), 1U);
}

TEST_F(SlicesTest, ARecallEndsWithTheWindow) {
    constexpr Rate kRate{1'000'000, 3s};
    tables[0].plans[0].rates = {kRate};
    Worker& worker = start();
    granted_for(worker, "k", 1s);
    const auto window = [&] { return window_number(worker.clock.wall(), kRate.period); };
    for (const auto first = window(); window() == first; granted_for(worker, "k", 10ms)) {
        worker.engine.on_event("recall:k");
    }
    const auto leases = statistics["leases"].value();
    granted_for(worker, "k", 200ms);
    EXPECT_GT(statistics["leases"].value(), leases);
}

TEST_F(SlicesTest, TwoWorkersShareALeaseAndGrantNoMoreThanTheLimit) {
    tables[0].plans[0].rates = {{3000, 3600s}};
    Worker& one = start();
    Worker& two = start();
    int granted = 0;
    for (int i = 0; i < 3000; ++i) {
        granted += ask(one, "k").status() == 0 ? 1 : 0;
        granted += ask(two, "k").status() == 0 ? 1 : 0;
        run_for(i % 3 == 0 ? 1ms : 0ms);
    }
    EXPECT_LE(granted, 3000);
    EXPECT_GE(granted, 2970);
    run_for(3s);
    EXPECT_LE(counted("k"), 3000);
}

TEST_F(SlicesTest, AStateThatWasEvictedGetsItsUnitsBack) {
    zone_size = std::size_t{32} << 10U;
    Worker& worker = start();
    int granted = granted_for(worker, "k", 2s);
    const int others = 600;
    for (int i = 0; i < others; ++i) {
        add_key("o" + std::to_string(i));
        begin(worker, "o" + std::to_string(i));
    }
    run_for(20ms);
    granted += granted_for(worker, "k", 100ms);
    run_for(4s);
    EXPECT_EQ(counted("k"), granted);
}

class RecoveryTest : public SlicesTest {
  protected:
    RecoveryTest() {
        killed_ = &start();
        successor_ = &start();
        granted_ = granted_for(*killed_, "k", 2s);
        while (state("k").lease_calls > 0) {
            granted_ += granted_for(*killed_, "k", 1ms);
        }
    }

    std::int64_t in_slice() { return counted("k") - granted_ - leased_in_zone(); }
    void recover() {
        zone->processes.erase(killed_->process.process());
        const EndedWorker ended{.place = 0,
                                .process = killed_->process.process(),
                                .counts = {{settings.name_hash, statistics}}};
        recover_slices(*zone, {&ended, 1}, successor_->process, successor_->engine.steady_time());
    }
    std::uint64_t carried() {
        return statistics.taken.value() - statistics["lease_units.spent"].value();
    }

    Worker* killed_;
    Worker* successor_;
    std::int64_t granted_;
};

TEST_F(RecoveryTest, TheSuccessorOfAKilledWorkerReturnsItsSlices) {
    const std::int64_t units = in_slice();
    ASSERT_GT(units, 0);
    recover();
    EXPECT_EQ(state("k").windows[0].owed, -units);
    EXPECT_EQ(carried(), 0U);
    recover();
    EXPECT_EQ(state("k").windows[0].owed, -units) << "once";
}

TEST_F(RecoveryTest, NothingReturnsOfASliceThatIsSpent) {
    int requests = 0;
    for (; in_slice() > 0 && requests < 1000; ++requests) {
        granted_ += begin(*killed_, "k").status() == 0 ? 1 : 0;
    }
    ASSERT_LT(requests, 1000);
    recover();
    EXPECT_EQ(state("k").windows[0].owed, 0);
}

TEST_F(RecoveryTest, UnitsOfAQuotaThatWasEvictedAreLost) {
    const auto units = static_cast<std::uint64_t>(in_slice());
    {
        const LockedStripe locked(*zone, id_hash("k"));
        QuotaCache::Cursor cursor;
        std::optional<QuotaCache::Held> held;
        locked.quotas().visit_held(cursor, [&](const QuotaCache::Held& found) {
            held = found;
            return true;
        });
        ASSERT_TRUE(held);
        locked.quotas().drop(*held);
    }
    recover();
    EXPECT_EQ(state("k"), QuotaState{});
    EXPECT_EQ(carried(), units);
}

TEST_F(SlicesTest, WithoutAFreeRecordNoSliceIsTaken) {
    Worker& worker = start();
    const IdHash id = id_hash("k");
    {
        const LockedStripe locked(*zone, id);
        std::vector<SliceRecord*> records(16);
        ASSERT_TRUE(locked.slices().find_free(0, records));
        for (SliceRecord* record : records) {
            const TableQuota quota{.table = "api", .rates = {}};
            record->write(worker.process.process(), {{"k"}, id, 1, quota, 0}, quota, {}, 1);
        }
    }
    const int granted = granted_for(worker, "k", 2s);
    EXPECT_EQ(statistics.taken.value(), statistics["lease_units.spent"].value());
    run_for(5s);
    EXPECT_EQ(counted("k"), granted);
}

TEST_F(SlicesTest, ARefusalIsRepeatedWithoutTheLock) {
    tables[0].plans[0].rates = {{10, 3600s}};
    Worker& worker = start();
    EXPECT_EQ(granted(worker, "k", 20), 10);
    run_for(50ms);
    ask(worker, "k");
    const auto refused = statistics["quota_decisions.refusal"].value();
    const int locks = locks_of([&] {
        for (int i = 0; i < 50; ++i) {
            EXPECT_EQ(begin(worker, "k").status(), 429);
        }
    });
    EXPECT_EQ(locks, 0);
    EXPECT_EQ(statistics["quota_decisions.refusal"].value(), refused + 50);
}

TEST_F(SlicesTest, ARefusalOfManyUnitsDoesNotRefuseOne) {
    tables[0].plans[0].rates = {{10, 3600s}};
    Worker& worker = start();
    const auto ask_for = [&](std::int64_t cost) {
        Request& request = begin(worker, "k", {.cost = cost});
        run_for(20ms);
        return request.status();
    };
    EXPECT_EQ(ask_for(8), 0);
    EXPECT_EQ(ask_for(5), 429);
    EXPECT_EQ(ask_for(5), 429);
    EXPECT_EQ(ask_for(5), 429);
    EXPECT_EQ(ask_for(2), 0);
}

TEST_F(SlicesTest, KeysWithoutMemoryForASliceAreGrantedFromTheZone) {
    Worker& worker = start();
    granted_for(worker, "k", 1s);
    int decided = 0;
    for (int failing = 0; failing < 40; ++failing) {
        run_for(120ms);
        granted_for(worker, "k", 10ms);
        run_for(120ms);
        allocations_left = failing;
        Request* request = nullptr;
        {
            const UnlimitedMemory memory;
            request =
                requests.emplace_back(std::make_unique<Request>(worker, RequestOptions{})).get();
        }
        request->admission.start("k");
        allocations_left = -1;
        run_for(20ms);
        decided += request->outcome().is_decided() ? 1 : 0;
    }
    EXPECT_EQ(decided, 40);
    run_for(5s);
    EXPECT_EQ(ask(worker, "k").status(), 0);
}

}  // namespace
}  // namespace tollgate::engine
