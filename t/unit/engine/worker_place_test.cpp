// What ended workers have left, and who recovers it.

#include "module/engine/worker_place.hpp"

#include <gtest/gtest.h>

#include "module/text/name_hash.hpp"
#include "t/unit/engine/simulated_process.hpp"

namespace tollgate::engine {
namespace {

using namespace std::chrono_literals;

class WorkerPlaceTest : public testing::Test {
  protected:
    struct Worker {
        Worker(WorkerPlaceTest& test, std::size_t number)
            : clock(timeline),
              events(timeline),
              process(number, test.zone_.processes),
              place(std::in_place, test.zone_, test.registry_,
                    std::vector<RedisName>{{name_hash("main"), "main"}},
                    std::span<const ServedTable>(), Environment{clock, events, log, process}) {}

        Timeline timeline;  ///< of its own: that of a worker that was killed stands still
        SimulatedClock clock;
        SimulatedEventLoop events;
        SimulatedLog log;
        SimulatedWorker process;
        std::optional<WorkerPlace> place;
    };

    Worker& start(std::size_t number) {
        return *workers_.emplace_back(std::make_unique<Worker>(*this, number));
    }
    /// Stops the process as a signal does that it does not handle.
    void kill(const Worker& worker) { zone_.processes.erase(worker.process.process()); }
    /// Lets the workers run for the time in which one recovers.
    void run() {
        for (const auto& worker : workers_) {
            if (zone_.processes.contains(worker->process.process())) {
                worker->timeline.run_until(worker->timeline.now() + 1001ms);
            }
        }
    }
    /// The worker takes so many units out of a lease, some of them into a slice.
    void carry(const Worker& worker, std::int64_t units, std::int64_t in_slice) {
        {
            const LockedNode node(zone_);
            registry_.redis("main", worker.place->number())
                .own.taken.add(static_cast<std::uint64_t>(units));
        }
        const LockedStripe stripe(zone_, key_.id);
        QuotaState state = stripe.quotas().load(key_);
        state.windows[0].counted.number = 7;
        ASSERT_TRUE(stripe.quotas().save(key_, state, 1s));
        std::array<SliceRecord*, 1> records{};
        ASSERT_TRUE(stripe.slices().find_free(0, records));
        records[0]->write(worker.process.process(), key_, quota_, state, in_slice);
    }
    std::int64_t owed() { return LockedStripe(zone_, key_.id).quotas().load(key_).windows[0].owed; }
    RedisStatistics counts() const {
        Status status;
        registry_.copy_to(status);
        return status.redis.empty() ? RedisStatistics{} : status.redis.front().counts;
    }
    std::uint64_t lost() const { return counts()["lease_units.lost"].value(); }
    /// Units that no worker is to return: all are spent, lost, or back in the zone.
    std::uint64_t carried() const {
        return counts().taken.value() - counts()["lease_units.spent"].value();
    }

    SimulatedZone zone_{7};
    struct alignas(kCacheLine) Memory {
        std::array<std::byte, std::size_t{64} << 10U> bytes{};
    };
    Memory memory_;
    StatisticsRegistry registry_{memory_.bytes};
    const TableQuota quota_{.table = "api",
                            .rates = {{1000, 86400s}},
                            .sliding = false,
                            .lease_time = kLeaseTime,
                            .policies = {},
                            .table_id = 7,
                            .history = std::chrono::days(90)};
    const QuotaCache::Key key_{{"abc"}, id_hash("abc"), name_hash("main"), quota_, 0};
    std::vector<std::unique_ptr<Worker>> workers_;
};

TEST_F(WorkerPlaceTest, ASuccessorRecoversWhenItStarts) {
    const Worker& killed = start(0);
    carry(killed, 10, 6);
    kill(killed);
    start(1);
    EXPECT_EQ(owed(), -6) << "the slice";
    EXPECT_EQ(lost(), 4U) << "what was in a call";
    EXPECT_EQ(carried(), 0U);
}

TEST_F(WorkerPlaceTest, UnitsOfADayThatHasEndedAreRecoveredForItsHistory) {
    const Worker& killed = start(0);
    carry(killed, 6, 6);
    kill(killed);
    {
        const LockedStripe stripe(zone_, key_.id);
        QuotaState state = stripe.quotas().load(key_);
        state.windows[0].counted.number = 8;
        ASSERT_TRUE(stripe.quotas().save(key_, state, 1s));
    }
    start(1);
    const QuotaState state = LockedStripe(zone_, key_.id).quotas().load(key_);
    EXPECT_EQ(state.windows[0].owed_previous, -6);
    EXPECT_EQ(lost(), 0U);
}

TEST_F(WorkerPlaceTest, OthersRecoverAWorkerThatIsKilledAfterItHasASuccessor) {
    const Worker& old = start(0);
    start(1);
    start(2);
    carry(old, 10, 6);
    run();
    EXPECT_EQ(carried(), 10U) << "it is alive";
    kill(old);
    run();
    EXPECT_EQ(owed(), -6);
    EXPECT_EQ(lost(), 4U) << "once, though both others look for it";
    EXPECT_EQ(carried(), 0U);
}

TEST_F(WorkerPlaceTest, NothingIsTakenFromTheWorkersThatAreLeft) {
    const Worker& old = start(0);
    const Worker& next = start(1);
    EXPECT_NE(old.place->number(), next.place->number());
    carry(next, 10, 6);
    kill(old);
    run();
    EXPECT_EQ(owed(), 0);
    EXPECT_EQ(lost(), 0U);
    EXPECT_EQ(carried(), 10U);
}

TEST_F(WorkerPlaceTest, AWorkerThatIsShuttingDownLeavesItToOthers) {
    Worker& old = start(0);
    old.process.exiting = true;
    const Worker& killed = start(1);
    carry(killed, 10, 6);
    kill(killed);
    run();
    EXPECT_EQ(carried(), 10U);
    start(2);
    EXPECT_EQ(owed(), -6);
    EXPECT_EQ(lost(), 4U);
}

TEST_F(WorkerPlaceTest, WhatAWorkerCarriesWhenItExitsIsLost) {
    Worker& worker = start(0);
    carry(worker, 4, 0);
    const std::size_t place = worker.place->number();
    worker.place.reset();
    EXPECT_EQ(lost(), 4U);
    EXPECT_EQ(carried(), 0U);
    EXPECT_EQ(start(1).place->number(), place) << "the place is free";
}

TEST_F(WorkerPlaceTest, TheNumberOfAProcessIsUsedAgain) {
    const Worker& killed = start(0);
    carry(killed, 10, 6);
    const Worker& next = start(0);
    EXPECT_EQ(owed(), -6);
    EXPECT_EQ(lost(), 4U);
    EXPECT_EQ(next.place->number(), 0U);
}

/// Also if the process that looks has the number of the one that was killed.
TEST_F(WorkerPlaceTest, RequestsInFlightOfAKilledWorkerAreForgotten) {
    const FlightKey key{key_.id, name_hash("main"), 7};
    const auto requests = [&] {
        return LockedStripe(zone_, key.id).flights().find(key).requests();
    };
    const auto begin = [&](const Worker& worker) {
        const LockedStripe stripe(zone_, key.id);
        stripe.flights().find_or_make({key, IdText("k")}).add(worker.process.process(), 1);
    };
    const Worker& killed = start(0);
    begin(killed);
    begin(start(1));
    start(0);
    EXPECT_EQ(requests(), 1) << "a successor with the same number";
    int told = 0;
    for (const auto& worker : workers_) {
        if (worker->place) {
            worker->place->on_forgotten_flights([&] { ++told; });
        }
    }
    EXPECT_EQ(told, 1) << "of those that it forgot when it started";
    kill(*workers_[1]);
    run();
    EXPECT_EQ(requests(), 0);
    EXPECT_EQ(told, 2);
}

TEST_F(WorkerPlaceTest, WorkersWithoutAPlaceShareTheirCounts) {
    for (std::size_t number = 0; number < WorkerPlaces::kMost; ++number) {
        EXPECT_EQ(start(number).place->number(), number);
    }
    const Worker& one = start(WorkerPlaces::kMost);
    const Worker& other = start(WorkerPlaces::kMost + 1);
    EXPECT_EQ(one.place->number(), WorkerPlaces::kMost);
    EXPECT_EQ(other.place->number(), WorkerPlaces::kMost);
    carry(one, 10, 6);
    kill(one);
    run();
    EXPECT_EQ(lost(), 0U);
    kill(other);
    EXPECT_EQ(carried(), 10U);
    kill(*workers_.front());
    run();
    const LockedStripe stripe(zone_, key_.id);
    stripe.slices().for_each([](const SliceRecord&) { ADD_FAILURE() << "a record is left"; });
}

}  // namespace
}  // namespace tollgate::engine
