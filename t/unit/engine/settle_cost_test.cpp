// The cost of a request that is settled at its end: see Admission::settle.

#include <array>
#include <random>

#include "t/unit/engine/engine_fixture.hpp"

namespace tollgate::engine {
namespace {

class SettleCostTest : public EngineTest {
  protected:
    static constexpr std::int64_t kReserved = 10;

    SettleCostTest() {
        tables[0].plans[0].rates = {{1'000'000, 3600s}};
        add_key("k");
    }

    /// A granted request, which is settled or not yet.
    Request& ask_settled(Worker& worker, std::optional<std::int64_t> used) {
        Request& request = ask(worker, "k", {.cost = kReserved, .settles = true});
        EXPECT_EQ(request.status(), 0);
        request.admission.settle(used.value_or(kReserved));
        sum += used.value_or(kReserved);
        return request;
    }
    void expect_all_counted() {
        run_for(5s);
        EXPECT_EQ(counted("k"), sum);
        EXPECT_EQ(statistics["cost_units.settled"].value(), static_cast<std::uint64_t>(sum));
        const auto units = [&](CounterName name) { return statistics[name].value(); };
        EXPECT_EQ(
            units("lease_units.granted"),
            units("lease_units.spent") + units("lease_units.returned") + units("lease_units.lost"));
        EXPECT_EQ(units("owed_units.noted"), units("owed_units.settled"));
    }

    /// From 0 to `most`.
    std::int64_t any(std::int64_t most) {
        return std::uniform_int_distribution<std::int64_t>(0, most)(random);
    }

    std::int64_t sum = 0;
    std::mt19937 random{1};
};

TEST_F(SettleCostTest, TheSumOfWhatWasUsedIsCounted) {
    Worker& one = start();
    Worker& two = start();
    for (int i = 0; i < 3000; ++i) {
        ask_settled(any(1) == 0 ? one : two, any(2 * kReserved));
        run_for(std::chrono::milliseconds(any(2)));
    }
    EXPECT_GT(statistics["quota_decisions.lease"].value(), 1000U);
    expect_all_counted();
}

TEST_F(SettleCostTest, WithoutLeasesToo) {
    tables[0].lease_time = 0ms;
    Worker& worker = start();
    for (int i = 0; i < 300; ++i) {
        ask_settled(worker, any(2 * kReserved));
    }
    expect_all_counted();
}

TEST_F(SettleCostTest, ALimitIsNotExceededByRequestsAtTheSameTime) {
    tables[0].plans[0].rates = {{1000, 3600s}};
    Worker& worker = start();
    std::deque<Request*> running;
    for (int i = 0; i < 2000; ++i) {
        Request& request = ask(worker, "k", {.cost = kReserved, .settles = true});
        if (request.status() == 0) {
            running.push_back(&request);
        }
        if (running.size() > 20 || (request.status() != 0 && !running.empty())) {
            const std::int64_t used = any(kReserved);
            running.front()->admission.settle(used);
            running.pop_front();
            sum += used;
        }
        ASSERT_LE(counted("k"), 1000);
        run_for(1ms);
    }
    for (Request* request : running) {
        request->admission.settle(0);
    }
    expect_all_counted();
    EXPECT_GT(sum, 900) << "refunds are granted again";
}

TEST_F(SettleCostTest, OnlyOnce) {
    Worker& worker = start();
    Request& request = ask_settled(worker, 3);
    request.admission.settle(900);
    EXPECT_EQ(request.outcome().cost, 3);
    expect_all_counted();
}

TEST_F(SettleCostTest, WithoutAValueTheCostStands) {
    Worker& worker = start();
    Request& request = ask_settled(worker, std::nullopt);
    EXPECT_EQ(request.outcome().cost, kReserved);
    expect_all_counted();
}

TEST_F(SettleCostTest, ARequestOfCost0MayUseUnits) {
    Worker& worker = start();
    Request& request = ask(worker, "k", {.cost = 0, .settles = true});
    request.admission.settle(7);
    sum = 7;
    expect_all_counted();
}

TEST_F(SettleCostTest, ARequestOfCost0NeedsAUnitThatIsLeft) {
    tables[0].plans[0].rates = {{10, 3600s}};
    Worker& worker = start();
    Request& first = ask(worker, "k", {.cost = 0, .settles = true});
    EXPECT_EQ(first.status(), 0);
    first.admission.settle(12);
    run_for(1s);
    Request& refused = ask(worker, "k", {.cost = 0, .settles = true});
    EXPECT_EQ(refused.status(), 429);
    EXPECT_GT(refused.outcome().retry_after, 1);
    EXPECT_EQ(ask(worker, "k", {.cost = 0}).status(), 0) << "it only looks";
    EXPECT_EQ(ask(worker, "k", {.cost = 0, .settles = true}).status(), 429);
}

TEST_F(SettleCostTest, ACostAboveALimitIsNeverGranted) {
    tables[0].plans[0].rates = {{10, 3600s}};
    Worker& worker = start();
    ask(worker, "k");
    const auto calls = worker.transport.calls;
    Request& refused = ask(worker, "k", {.cost = 11});
    EXPECT_EQ(refused.status(), 429);
    EXPECT_EQ(refused.outcome().error.code, kCostExceedsLimit.code);
    EXPECT_EQ(refused.outcome().retry_after, 0);
    EXPECT_EQ(refused.outcome().windows.size(), 1U);
    EXPECT_EQ(worker.transport.calls, calls) << "Redis need not decide it";
}

TEST_F(SettleCostTest, ARequestThatIsRefusedHasNothingToSettle) {
    tables[0].plans[0].rates = {{kReserved - 1, 3600s}};
    Worker& worker = start();
    Request& request = ask(worker, "k", {.cost = kReserved, .settles = true});
    EXPECT_EQ(request.status(), 429);
    request.admission.settle(3);
    expect_all_counted();
}

TEST_F(SettleCostTest, ARequestThatIsNotSettledNeedsNoWindows) {
    Worker& worker = start();
    Request& request = ask(worker, "k");
    EXPECT_TRUE(request.outcome().counting.empty());
    EXPECT_FALSE(ask_settled(worker, std::nullopt).outcome().cost == 1);
}

TEST_F(SettleCostTest, InAnOutageToo) {
    Worker& worker = start();
    ask_settled(worker, 3);
    worker.transport.reachable = false;
    Request& before = ask(worker, "k", {.cost = kReserved, .settles = true});
    for (int i = 0; i < 20; ++i) {
        ask_settled(worker, any(2 * kReserved));
    }
    worker.transport.reachable = true;
    run_for(2s);
    before.admission.settle(25);
    sum += 25;
    expect_all_counted();
}

/// The zone has no place for the quota of a request that ends, and only its worker knows what the
/// request has used.
class SettleWithoutPlaceTest : public SettleCostTest {
  protected:
    SettleWithoutPlaceTest() { tables[0].lease_time = 0ms; }

    /// A granted request. Afterwards, its quota has no place.
    Request& ask_and_fill(Worker& worker) {
        Request& request = ask(worker, "k", {.cost = kReserved, .settles = true});
        EXPECT_EQ(request.status(), 0);
        fill_zone(false);
        EXPECT_EQ(state("k"), QuotaState{});
        return request;
    }
    void settle(Request& request, std::int64_t used) {
        request.admission.settle(used);
        sum += used;
    }
    /// Refunds that are not yet returned to Redis, and that are not in the zone.
    std::uint64_t carried() {
        return statistics.taken.value() - statistics["lease_units.spent"].value();
    }
};

TEST_F(SettleWithoutPlaceTest, IsReportedWhenThereIsAPlace) {
    for (const std::int64_t used : {0, 3, 25}) {
        Worker& worker = workers.empty() ? start() : *workers.front();
        Request& request = ask_and_fill(worker);
        settle(request, used);
        run_for(1s);
        EXPECT_EQ(state("k"), QuotaState{});
        EXPECT_EQ(counted("k"), sum - used + kReserved);
        empty_zone();
        run_for(1s);
        EXPECT_EQ(counted("k"), sum);
    }
    EXPECT_EQ(carried(), 0U);
    EXPECT_EQ(statistics["lease_units.lost"].value(), 0U);
    expect_all_counted();
}

TEST_F(SettleWithoutPlaceTest, SeveralRequestsOfAnIdAreSummedUp) {
    Worker& worker = start();
    std::array<Request*, 20> running{};
    for (Request*& request : running) {
        request = &ask(worker, "k", {.cost = kReserved, .settles = true});
    }
    fill_zone(false);
    for (Request* request : running) {
        settle(*request, any(2 * kReserved));
    }
    empty_zone();
    run_for(1s);
    EXPECT_EQ(counted("k"), sum);
    EXPECT_EQ(carried(), 0U);
    expect_all_counted();
}

TEST_F(SettleWithoutPlaceTest, OfOneOfTwoTables) {
    add_table("search", {{1'000'000, 3600s}}).lease_time = 0ms;
    Worker& worker = start();
    Request& request = ask_and_fill(worker);
    settle(request, 3);
    empty_zone();
    run_for(2s);
    EXPECT_EQ(counted("k", 0), 3);
    EXPECT_EQ(counted("k", 1), 3);
    EXPECT_EQ(carried(), 0U);
}

TEST_F(SettleWithoutPlaceTest, IsDroppedWithItsWindow) {
    Worker& worker = start();
    Request& refunded = ask_and_fill(worker);
    refunded.admission.settle(3);
    EXPECT_EQ(carried(), 7U);
    run_for(3601s);
    EXPECT_EQ(carried(), 0U);
    EXPECT_EQ(statistics["lease_units.lost"].value(), 7U);
}

TEST_F(SettleWithoutPlaceTest, IsLostWithItsWorker) {
    Worker& worker = start();
    Request& refunded = ask_and_fill(worker);
    refunded.admission.settle(3);
    requests.clear();
    workers.clear();
    EXPECT_EQ(carried(), 0U);
    EXPECT_EQ(statistics["lease_units.lost"].value(), 7U);
    EXPECT_EQ(statistics["owed_units.noted"].value(), 0U);
}

TEST_F(SettleWithoutPlaceTest, IsReportedByAWorkerThatEnds) {
    Worker& worker = start();
    Request& request = ask_and_fill(worker);
    settle(request, 3);
    empty_zone();
    worker.process.exiting = true;
    worker.engine.shut_down();
    run_for(100ms);
    EXPECT_EQ(counted("k"), sum);
    EXPECT_EQ(carried(), 0U);
}

TEST_F(SettleWithoutPlaceTest, OnlySoManyIdsAreKept) {
    Worker& worker = start();
    constexpr auto kMany = static_cast<int>(UnstoredUnits::kMost) + 50;
    std::vector<Request*> running;
    for (int i = 0; i < kMany; ++i) {
        add_key("k" + std::to_string(i));
        running.push_back(
            &ask(worker, "k" + std::to_string(i), {.cost = kReserved, .settles = true}));
    }
    fill_zone(false);
    for (Request* request : running) {
        request->admission.settle(3);
    }
    EXPECT_EQ(carried(), 7 * UnstoredUnits::kMost);
    EXPECT_EQ(statistics["lease_units.lost"].value(), 7U * 50);
    empty_zone();
    run_for(5s);
    EXPECT_EQ(carried(), 0U);
    EXPECT_EQ(statistics["lease_units.returned"].value(), 7 * UnstoredUnits::kMost);
}

// A pass of the settlement finds no id for the units in the zone.
TEST_F(SettleWithoutPlaceTest, WithoutARecordOfItsKeyItIsReportedAfterAnOutage) {
    Worker& worker = start();
    Request& request = ask(worker, "k", {.cost = kReserved, .settles = true});
    const KeyCache::Key key{settings.name_hash, sha256("k")};
    LockedStripe(*zone, key).keys().put_unknown(key, worker.engine.steady_time());
    worker.transport.reachable = false;
    settle(request, 3);
    run_for(1s);
    EXPECT_EQ(state("k").windows[0].owed, -7);
    worker.transport.reachable = true;
    run_for(1s);
    EXPECT_EQ(counted("k"), 3);
    EXPECT_EQ(state("k").windows[0].owed, 0);
}

}  // namespace
}  // namespace tollgate::engine
