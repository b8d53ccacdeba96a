// The cost of a request that is settled at its end: see Admission::settle.

#include <random>

#include "t/unit/gateway/engine_fixture.hpp"

namespace tollgate::gateway {
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
        request.admission.settle(used);
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

}  // namespace
}  // namespace tollgate::gateway
