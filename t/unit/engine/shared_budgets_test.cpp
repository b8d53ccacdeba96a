// Budgets of addresses that nodes share: what a node tells Redis, how often, and what it learns.

#include "module/engine/anonymous/shared_budgets.hpp"

#include "module/key/client_address.hpp"
#include "module/redis/topology/key_slot.hpp"
#include "t/unit/engine/engine_fixture.hpp"

namespace tollgate::engine {
namespace {

class SharedBudgetsTest : public EngineTest {
  protected:
    SharedBudgetsTest() {
        tables[0].anonymous = {{5, 3600s}};
        tables[0].anonymous_policies = {"anonymous-hour"};
        tables[0].anonymous_is_shared = true;
    }

    /// The status of a request without a key.
    int fail(Worker& worker, unsigned char host = 1) {
        auto& request = requests.emplace_back(std::make_unique<Request>(worker, RequestOptions{}));
        request->client = {192, 0, 2, host};
        request->admission.start(std::nullopt);
        return request->status();
    }
    std::map<std::string, std::int64_t>& budget() {
        return redis.budgets[settings.keys.address("c0000201", tables[0].name)];
    }
    std::int64_t total() { return budget()["3600.count"]; }
};

TEST_F(SharedBudgetsTest, AreToldSoonAndThenOnceASecond) {
    Worker& worker = start();
    EXPECT_EQ(fail(worker), 401);
    run_for(2s);
    EXPECT_EQ(redis.budget_calls, 0) << "a single failure is not worth an entry";
    EXPECT_EQ(fail(worker), 401);
    run_for(20ms);
    EXPECT_EQ(total(), 2) << "with those before";
    fail(worker);
    fail(worker);
    run_for(900ms);
    EXPECT_EQ(redis.budget_calls, 1);
    run_for(200ms);
    EXPECT_EQ(total(), 4);
    run_for(5s);
    EXPECT_EQ(redis.budget_calls, 2) << "nothing is left to tell";
}

TEST_F(SharedBudgetsTest, AreToldFromAnEighth) {
    const auto told_from = [](std::int64_t requests) {
        return SharedBudgets::told_from({requests, 60s});
    };
    EXPECT_EQ(told_from(1), 1);
    EXPECT_EQ(told_from(2), 2);
    EXPECT_EQ(told_from(16), 2);
    EXPECT_EQ(told_from(17), 3);
    EXPECT_EQ(told_from(1000), 125);
    tables[0].anonymous = {{30, 60s}, {40, 3600s}};
    tables[0].anonymous_policies = {"anonymous-minute", "anonymous-hour"};
    Worker& worker = start();
    for (int i = 0; i < 4; ++i) {
        EXPECT_EQ(fail(worker), 401);
        run_for(61s);
    }
    EXPECT_EQ(redis.budget_calls, 0);
    EXPECT_EQ(fail(worker), 401);
    run_for(20ms);
    EXPECT_EQ(total(), 5) << "one window is enough";
}

TEST_F(SharedBudgetsTest, AWorkerAddsFewAddressesASecond) {
    zone_size = std::size_t{16} << 20U;
    Worker& worker = start();
    const auto fail_from = [&](unsigned i) {
        for (int n = 0; n < 2; ++n) {
            auto& request =
                requests.emplace_back(std::make_unique<Request>(worker, RequestOptions{}));
            request->client = {10, 0, static_cast<unsigned char>(i >> 8U),
                               static_cast<unsigned char>(i)};
            request->admission.start(std::nullopt);
        }
    };
    const auto added = [&] { return static_cast<std::int64_t>(redis.budgets.size()); };
    for (unsigned i = 0; i < SharedBudgets::kMostNew + 200; ++i) {
        fail_from(i);
    }
    run_for(900ms);
    EXPECT_EQ(added(), SharedBudgets::kMostNew);
    fail_from(0);
    run_for(1s);
    EXPECT_EQ(redis.budgets[settings.keys.address("0a000000", tables[0].name)]["3600.count"], 4)
        << "an address that Redis has";
    for (unsigned i = 5000; i < 5010; ++i) {
        fail_from(i);
    }
    run_for(100ms);
    EXPECT_LE(added(), SharedBudgets::kMostNew + 2);
    EXPECT_GE(added(), SharedBudgets::kMostNew + 1);
}

TEST_F(SharedBudgetsTest, WhatOtherNodesHaveChargedIsSpent) {
    Worker& worker = start();
    EXPECT_EQ(fail(worker), 401);
    EXPECT_EQ(fail(worker), 401);
    run_for(20ms);
    budget()["3600.count"] += 1;
    EXPECT_EQ(fail(worker), 401);
    run_for(1100ms);
    EXPECT_EQ(fail(worker), 401) << "the fifth";
    EXPECT_EQ(fail(worker), 429);
    run_for(2s);
    EXPECT_EQ(total(), 5) << "a refused request is not charged";
    EXPECT_EQ(fail(worker, 2), 401) << "another address";
}

TEST_F(SharedBudgetsTest, AChargeCountsInItsOwnWindowOnly) {
    tables[0].anonymous = {{30, 60s}, {100, 3600s}};
    tables[0].anonymous_policies = {"anonymous-minute", "anonymous-hour"};
    Worker& worker = start();
    const auto wall = worker.clock.wall();
    run_for(window_end(window_number(wall, 60s), 60s) - wall - 500ms);
    for (int i = 0; i < 30; ++i) {
        EXPECT_EQ(fail(worker), 401);
        run_for(5ms);
    }
    run_for(2s);
    EXPECT_EQ(fail(worker), 401);
    run_for(2s);
    EXPECT_EQ(budget()["60.count"], 1) << "of the new minute";
    EXPECT_EQ(total(), 31);
    for (int i = 0; i < 29; ++i) {
        EXPECT_EQ(fail(worker), 401);
    }
    EXPECT_EQ(fail(worker), 429);
}

TEST_F(SharedBudgetsTest, WorkersOfANodeTellAChargeOnce) {
    Worker& first = start();
    Worker& second = start();
    for (Worker* worker : {&first, &second, &first, &second}) {
        EXPECT_EQ(fail(*worker), 401);
        run_for(300ms);
    }
    run_for(2s);
    EXPECT_EQ(total(), 4);
    EXPECT_LE(redis.budget_calls, 3);
}

TEST_F(SharedBudgetsTest, ManyAddressesShareACall) {
    Worker& worker = start();
    for (unsigned char host = 0; host < 20; ++host) {
        fail(worker, host);
        fail(worker, host);
    }
    run_for(20ms);
    EXPECT_EQ(redis.budgets.size(), 20);
    EXPECT_EQ(redis.budget_calls, 1);
}

TEST_F(SharedBudgetsTest, ACallOfAClusterHasOneSlot) {
    settings.is_cluster = true;
    Worker& worker = start();
    for (unsigned char host = 0; host < 20; ++host) {
        fail(worker, host);
        fail(worker, host);
    }
    run_for(20ms);
    EXPECT_EQ(redis.budgets.size(), 20);
    EXPECT_TRUE(worker.transport.keys_are_in_slots);
}

TEST_F(SharedBudgetsTest, AMasterThatIsUnreachableDelaysNoOther) {
    settings.is_cluster = true;
    zone_size = std::size_t{4} << 20U;
    Worker& worker = start();
    const auto fail_from = [&](unsigned i, unsigned char net) {
        const std::vector<unsigned char> address{net, 0, static_cast<unsigned char>(i >> 8U),
                                                 static_cast<unsigned char>(i)};
        for (int n = 0; n < 2; ++n) {
            auto& request =
                requests.emplace_back(std::make_unique<Request>(worker, RequestOptions{}));
            request->client = address;
            request->admission.start(std::nullopt);
        }
        return address_text(client_address(address));
    };
    // More addresses than a turn looks at.
    for (unsigned i = 0; i < 2000; ++i) {
        const auto text = fail_from(i, 10);
        worker.transport.unreachable_slots.insert(redis::key_slot("{" + text + "}"));
    }
    run_for(200ms);
    int reachable = 0;
    for (unsigned i = 0; i < 60; ++i) {
        const auto text = fail_from(i, 11);
        const bool is_reachable =
            !worker.transport.unreachable_slots.contains(redis::key_slot("{" + text + "}"));
        reachable += is_reachable ? 1 : 0;
    }
    const std::size_t before = redis.budgets.size();
    run_for(1s);
    EXPECT_GT(reachable, 5);
    EXPECT_EQ(redis.budgets.size(), before + static_cast<std::size_t>(reachable));
}

TEST_F(SharedBudgetsTest, AreToldAfterAnOutage) {
    Worker& worker = start();
    worker.transport.reachable = false;
    for (int i = 0; i < 5; ++i) {
        EXPECT_EQ(fail(worker), 401);
    }
    EXPECT_EQ(fail(worker), 429) << "the node's own budget";
    run_for(3s);
    EXPECT_EQ(redis.budget_calls, 0);
    worker.transport.reachable = true;
    run_for(200ms);
    EXPECT_EQ(total(), 5);
}

TEST_F(SharedBudgetsTest, AnErrorIsLoggedOnce) {
    Worker& worker = start();
    worker.transport.error_of = [](const redis::Call& call) {
        return call.script == &redis::budget_script() ? "NOPERM no" : "";
    };
    for (int i = 0; i < 3; ++i) {
        EXPECT_EQ(fail(worker), 401);
        run_for(1100ms);
    }
    const auto is_refusal = [](const auto& line) {
        return line.find("budgets of addresses are not shared") != std::string::npos;
    };
    EXPECT_EQ(std::ranges::count_if(worker.log.lines, is_refusal), 1);
}

TEST_F(SharedBudgetsTest, OthersAreNotTold) {
    tables[0].anonymous_is_shared = false;
    Worker& worker = start();
    EXPECT_EQ(fail(worker), 401);
    run_for(3s);
    EXPECT_EQ(redis.budget_calls, 0);
}

}  // namespace
}  // namespace tollgate::engine
