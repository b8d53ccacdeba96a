// Plan tables with `by=$variable`: each value of an id has a counter.

#include <string>

#include "t/unit/engine/engine_fixture.hpp"

namespace tollgate::engine {
namespace {

class ValuesTest : public EngineTest {
  protected:
    ValuesTest() {
        settings.on_failure = FailurePolicy::kLocal;
        tables[0].variable = "user";
        add_key("k");
    }

    Request& ask_as(Worker& worker, const std::string& value, const std::string& key = "k") {
        RequestOptions options;
        options.values = {value, value};
        return ask(worker, key, options);
    }
    int granted_as(Worker& worker, const std::string& value, int most) {
        int count = 0;
        for (int i = 0; i < most; ++i) {
            count += ask_as(worker, value).status() == 0 ? 1 : 0;
        }
        return count;
    }
    TableQuota quota_of(const std::string& value) {
        TableQuota quota;
        quota.table = tables[0].name;
        quota.table_id = name_hash(quota.table);
        quota.rates = tables[0].plans.front().rates;
        quota.value = ValueDigest::of(value);
        return quota;
    }
    std::int64_t counted_as(const std::string& value) {
        const TableQuota quota = quota_of(value);
        return redis.counts.count("k", quota, quota.rates.front()).count;
    }
    QuotaState state_as(const std::string& value) {
        const LockedStripe locked(*zone, id_hash("k"));
        return locked.quotas().load({{"k"}, id_hash("k"), settings.name_hash, quota_of(value), 0});
    }
    void allow(std::int64_t requests) { tables[0].plans[0].rates = {{requests, 3600s}}; }
};

TEST_F(ValuesTest, EachValueHasTheLimitOfThePlan) {
    Worker& worker = start();
    EXPECT_EQ(granted_as(worker, "alice", 15), 10);
    EXPECT_EQ(granted_as(worker, "bob", 15), 10);
    EXPECT_EQ(counted_as("alice"), 10);
    EXPECT_EQ(counted_as("bob"), 10);
    EXPECT_EQ(counted("k"), 0) << "the id itself has no counter";
}

TEST_F(ValuesTest, ARequestWithoutAValueIsNotCounted) {
    Worker& worker = start();
    EXPECT_EQ(granted_as(worker, "", 15), 15);
    EXPECT_EQ(worker.transport.calls, 1) << "the look-up";
    EXPECT_TRUE(requests.back()->outcome().windows.empty());
}

TEST_F(ValuesTest, AnotherTableOfTheLocationStillDecides) {
    add_table("all", {{12, 60s}});
    Worker& worker = start();
    EXPECT_EQ(granted_as(worker, "alice", 15), 10);
    EXPECT_EQ(granted_as(worker, "bob", 15), 2);
    EXPECT_EQ(counted_as("bob"), 2) << "a refused request is counted in no table";
    EXPECT_EQ(counted("k", 1), 12);
}

TEST_F(ValuesTest, AValueHasALeaseAndASliceOfItsOwn) {
    allow(1'000'000);
    Worker& worker = start();
    int alice = 0;
    int bob = 0;
    for (int i = 0; i < 3000; ++i, run_for(1ms)) {
        alice += ask_as(worker, "alice").status() == 0 ? 1 : 0;
        bob += i % 3 == 0 && ask_as(worker, "bob").status() == 0 ? 1 : 0;
    }
    EXPECT_EQ(alice, 3000);
    EXPECT_EQ(bob, 1000);
    EXPECT_LT(worker.transport.calls, 200);
    EXPECT_GT(statistics["quota_decisions.lease"].value(), 3500U);
    run_for(10s);
    EXPECT_EQ(counted_as("alice"), alice) << "the rest is returned to its own counter";
    EXPECT_EQ(counted_as("bob"), bob);
    EXPECT_EQ(state_as("alice").lease, 0);
}

TEST_F(ValuesTest, EachOfManyValuesIsFoundAgain) {
    allow(3);
    Worker& worker = start();
    std::vector<std::string> values{"GET", "GE", "", std::string(80, 'x'), std::string(81, 'x')};
    for (int i = 0; i < 700; ++i) {
        values.push_back("u" + std::to_string(i));
        values.push_back(std::to_string(i) + "@example.net");
        values.push_back(std::string(90, 'y') + std::to_string(i));
    }
    for (int round = 0; round < 4; ++round) {
        for (const std::string& value : values) {
            const bool is_granted = round < 3 || value.empty();
            EXPECT_EQ(ask_as(worker, value).status(), is_granted ? 0 : 429) << round << value;
        }
    }
}

TEST_F(ValuesTest, TheSameValueOfAnotherKeyIsAnother) {
    add_key("other");
    Worker& worker = start();
    for (int i = 0; i < 10; ++i) {
        EXPECT_EQ(ask_as(worker, "alice").status(), 0) << i;
        EXPECT_EQ(ask_as(worker, "alice", "other").status(), 0) << i;
    }
    EXPECT_EQ(ask_as(worker, "alice").status(), 429);
    EXPECT_EQ(ask_as(worker, "alice", "other").status(), 429);
}

TEST_F(ValuesTest, ARefusalConcernsItsValueOnly) {
    Worker& worker = start();
    granted_as(worker, "alice", 12);
    const auto calls = worker.transport.calls;
    EXPECT_EQ(granted_as(worker, "alice", 20), 0);
    EXPECT_EQ(worker.transport.calls, calls) << "decided by the worker";
    EXPECT_EQ(ask_as(worker, "bob").status(), 0);
    EXPECT_EQ(ask_as(worker, "alice").status(), 429);
}

TEST_F(ValuesTest, UnitsOfAnOutageAreReportedToTheCounterOfTheirValue) {
    Worker& worker = start();
    granted_as(worker, "alice", 4);
    granted_as(worker, "bob", 1);
    worker.transport.reachable = false;
    EXPECT_EQ(granted_as(worker, "alice", 20), 6) << "from the last count";
    EXPECT_EQ(granted_as(worker, "carol", 20), 10);
    EXPECT_EQ(counted_as("alice"), 4);
    worker.transport.reachable = true;
    run_for(5s);
    EXPECT_EQ(counted_as("alice"), 10);
    EXPECT_EQ(counted_as("bob"), 1);
    EXPECT_EQ(counted_as("carol"), 10);
}

TEST_F(ValuesTest, TheHistoryCountsAllValues) {
    tables[0].history = std::chrono::days(30);
    Worker& worker = start();
    EXPECT_EQ(granted_as(worker, "alice", 15), 10);
    EXPECT_EQ(granted_as(worker, "bob", 3), 3);
    EXPECT_EQ(granted_as(worker, "", 3), 3);
    TableQuota all;
    all.table = tables[0].name;
    EXPECT_EQ(redis.counts.count("k", all, {kNoLimit, 24h}).count, 13);
    EXPECT_EQ(requests.back()->outcome().windows.size(), 0U);
    EXPECT_EQ(ask_as(worker, "alice").outcome().windows.size(), 1U) << "the day is not shown";
}

TEST_F(ValuesTest, ADeletedKeyReturnsTheLeasesOfItsValues) {
    allow(1'000'000);
    Worker& worker = start();
    int granted = 0;
    for (int i = 0; i < 1000; ++i, run_for(1ms)) {
        granted += ask_as(worker, "alice").status() == 0 ? 1 : 0;
    }
    EXPECT_GT(state_as("alice").lease, 0);
    redis.records.clear();
    worker.engine.on_event(hex(sha256("k")));
    EXPECT_EQ(ask_as(worker, "alice").status(), 401);
    run_for(2s);
    EXPECT_EQ(state_as("alice").lease, 0);
    EXPECT_EQ(counted_as("alice"), granted);
}

TEST_F(ValuesTest, ValuesOfSeveralTablesAreNotMixedUp) {
    add_table("models", {{10, 60s}}).variable = "model";
    Worker& worker = start();
    const auto ask_for = [&](std::string user, std::string model) {
        RequestOptions options;
        options.values = {std::move(user), std::move(model)};
        return ask(worker, "k", options).status();
    };
    for (int i = 0; i < 10; ++i) {
        EXPECT_EQ(ask_for("a", "bc"), 0);
    }
    EXPECT_EQ(ask_for("a", "x"), 429);
    EXPECT_EQ(ask_for("x", "bc"), 429);
    for (int i = 0; i < 10; ++i) {
        EXPECT_EQ(ask_for("bc", "a"), 0) << i;
    }
    EXPECT_EQ(ask_for("ab", "c"), 0);
    EXPECT_EQ(ask_for("", ""), 0);
}

}  // namespace
}  // namespace tollgate::engine
