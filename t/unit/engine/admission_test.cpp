// The whole decision of a request, from its credentials to its outcome.

#include "module/engine/admission.hpp"

#include "t/unit/engine/engine_fixture.hpp"

namespace tollgate::engine {
namespace {

class AdmissionTest : public EngineTest {};

TEST_F(AdmissionTest, ARequestWithoutAKeyIsRefused) {
    const Request& request = ask(start(), std::nullopt);
    EXPECT_EQ(request.status(), 401);
    EXPECT_EQ(request.outcome().error.code, kMissingApiKey.code);
    EXPECT_FALSE(request.outcome().key_was_sent);
    EXPECT_EQ(workers[0]->transport.calls, 0);
}

TEST_F(AdmissionTest, ACredentialThatIsNoTokenIsRefused) {
    const Request& request = ask(start(), "a b");
    EXPECT_EQ(request.status(), 401);
    EXPECT_EQ(request.outcome().error.code, kInvalidApiKey.code);
    EXPECT_TRUE(request.outcome().key_was_sent);
    EXPECT_EQ(workers[0]->transport.calls, 0);
}

TEST_F(AdmissionTest, AnIssuedKeyWithAWrongChecksumIsNotLookedUp) {
    EXPECT_EQ(ask(start(), "tg_0000000000000000000000000000000000000").status(), 401);
    EXPECT_EQ(workers[0]->transport.calls, 0);
}

TEST_F(AdmissionTest, AnUnknownKeyIsLookedUpOnce) {
    Worker& worker = start();
    EXPECT_EQ(ask(worker, "nobody").status(), 401);
    EXPECT_EQ(ask(worker, "nobody").status(), 401);
    EXPECT_EQ(worker.transport.calls, 1);
    EXPECT_EQ(statistics["key_cache_lookups.miss"].value(), 1);
    EXPECT_EQ(statistics["key_cache_lookups.negative_hit"].value(), 1);
}

TEST_F(AdmissionTest, AValidKeyIsGrantedUpToItsLimit) {
    add_key("k");
    Worker& worker = start();
    EXPECT_EQ(granted(worker, "k", 15), 10);
    EXPECT_EQ(counted("k"), 10);
    const Outcome& last = requests.back()->outcome();
    EXPECT_EQ(last.verdict, Verdict::kLimited);
    EXPECT_EQ(last.status, 429);
    EXPECT_GT(last.retry_after, 0);
    ASSERT_EQ(last.windows.size(), 1U);
    EXPECT_TRUE(last.windows[0].exhausted);
    ASSERT_NE(last.quotas, nullptr);
    EXPECT_EQ(last.quotas->front().table, "api");
    EXPECT_EQ(statistics["quota_decisions.refusal"].value(), 5) << "Redis's last reply shows it";
}

TEST_F(AdmissionTest, AKeyThatIsDisabledIsRefused) {
    add_key("k", "free", false);
    EXPECT_EQ(ask(start(), "k").status(), 401);
    EXPECT_EQ(ask(*workers[0], "k").status(), 401) << "from the cache";
    EXPECT_TRUE(requests.back()->outcome().key().id.empty());
}

TEST_F(AdmissionTest, AKeyWhosePlanIsInNoTableIsForbidden) {
    add_key("k", "gold");
    EXPECT_EQ(ask(start(), "k").status(), 403);
    EXPECT_EQ(requests.back()->outcome().verdict, Verdict::kForbidden);
    EXPECT_EQ(workers[0]->transport.calls, 1);
}

TEST_F(AdmissionTest, AnUnlimitedKeyIsGrantedWithoutACount) {
    tables[0].plans[0].kind = Plan::Kind::kUnlimited;
    add_key("k");
    EXPECT_EQ(granted(start(), "k", 3), 3);
    EXPECT_EQ(workers[0]->transport.calls, 1) << "the look-up";
    workers[0]->transport.reachable = false;
    EXPECT_EQ(granted(*workers[0], "k", 1), 1);
}

class UnlimitedWithHistory : public AdmissionTest {
  protected:
    UnlimitedWithHistory() {
        tables[0].plans[0].kind = Plan::Kind::kUnlimited;
        tables[0].history = std::chrono::days(90);
        add_key("k");
    }
    std::int64_t in_history() {
        TableQuota quota;
        quota.table = tables[0].name;
        std::int64_t units = 0;
        for (const auto& [day, count] : redis.counts.history("k", quota)) {
            units += count;
        }
        return units;
    }
};

TEST_F(UnlimitedWithHistory, IsCountedAndNeverRefused) {
    ban = BanPolicy{1, 1min, 10min, 24h};
    Worker& worker = start();
    EXPECT_EQ(granted(worker, "k", 100), 100);
    EXPECT_TRUE(requests.back()->outcome().windows.empty()) << "nothing is shown";
    run_for(5s);
    EXPECT_EQ(in_history(), 100);
    EXPECT_LT(worker.transport.calls, 30) << "leases";
}

TEST_F(UnlimitedWithHistory, IsServedAndCountedWithoutRedisWhateverOnFailureIs) {
    std::int64_t expected = 0;
    for (const auto policy : {FailurePolicy::kLocal, FailurePolicy::kAllow, FailurePolicy::kDeny}) {
        settings.on_failure = policy;
        Worker& worker = workers.empty() ? start() : *workers.front();
        EXPECT_EQ(ask(worker, "k").status(), 0);
        worker.transport.reachable = false;
        EXPECT_EQ(granted(worker, "k", 5), 5);
        worker.transport.reachable = true;
        run_for(10s);
        expected += 6;
        EXPECT_EQ(in_history(), expected);
    }
}

TEST_F(UnlimitedWithHistory, IsRefusedByDenyIfItsRecordHasExpired) {
    settings.on_failure = FailurePolicy::kDeny;
    settings.key_cache = 1s;
    Worker& worker = start();
    EXPECT_EQ(ask(worker, "k").status(), 0);
    run_for(2s);
    worker.transport.reachable = false;
    EXPECT_EQ(ask(worker, "k").status(), 503);
}

TEST_F(UnlimitedWithHistory, IsServedIfItsCallIsNotAnswered) {
    settings.on_failure = FailurePolicy::kDeny;
    Worker& worker = start();
    EXPECT_EQ(ask(worker, "k").status(), 0);
    worker.transport.choose_fate = [](const redis::Call&) {
        return SimulatedTransport::Fate::kNotExecuted;
    };
    EXPECT_EQ(ask(worker, "k").status(), 0);
    EXPECT_EQ(requests.back()->outcome().verdict, Verdict::kDegraded);
}

TEST_F(AdmissionTest, CustomLimitsThatAreInvalidForbid) {
    tables[0].plans[0].kind = Plan::Kind::kCustom;
    add_key("k", "free", true, "many");
    add_key("good", "free", true, "2r/m");
    EXPECT_EQ(ask(start(), "k").status(), 403);
    ASSERT_EQ(workers[0]->log.lines.size(), 1U);
    EXPECT_TRUE(workers[0]->log.lines[0].starts_with("redis \"main\": limits of key \"k\": "));
    for (int i = 0; i < 5; ++i) {
        EXPECT_EQ(ask(*workers[0], "k").status(), 403);
    }
    EXPECT_EQ(workers[0]->log.lines.size(), 1U) << "within a second";
    run_for(1s);
    EXPECT_EQ(ask(*workers[0], "k").status(), 403);
    ASSERT_EQ(workers[0]->log.lines.size(), 2U);
    EXPECT_TRUE(workers[0]->log.lines[1].ends_with("errors were left out since the last line)"));
    EXPECT_EQ(granted(*workers[0], "good", 3), 2);
}

TEST_F(AdmissionTest, EveryTableMustGrant) {
    add_table("search", {{3, 60s}});
    add_key("k");
    EXPECT_EQ(granted(start(), "k", 5), 3);
    EXPECT_EQ(counted("k", 0), 3);
    EXPECT_EQ(counted("k", 1), 3);
    EXPECT_EQ(requests.back()->outcome().windows.size(), 2U);
}

TEST_F(AdmissionTest, TheCostIsAskedForWhenTheKeyIsKnown) {
    add_key("k");
    Worker& worker = start();
    Request& request = begin(worker, "k", {});
    request.own_cost = 4;
    run_for(20ms);
    EXPECT_EQ(request.status(), 0);
    EXPECT_EQ(counted("k"), 4);
    Request& second = *requests.emplace_back(std::make_unique<Request>(worker, RequestOptions{}));
    second.own_cost = 7;
    second.admission.start("k");
    run_for(20ms);
    EXPECT_EQ(second.status(), 429);
}

TEST_F(AdmissionTest, AKeyThatGoesOnIsBannedAndEachBanIsTwiceAsLong) {
    tables[0].plans[0].rates = {{10, 1h}};
    ban = BanPolicy{.after = 3, .within = 60s, .first = 10s, .up_to = 30s};
    add_key("k");
    Worker& worker = start();
    EXPECT_EQ(granted(worker, "k", 10), 10);
    std::vector<std::int64_t> bans;
    for (int i = 0; i < 3; ++i) {
        EXPECT_EQ(ask(worker, "k").outcome().error.code, kRateLimitExceeded.code);
        EXPECT_EQ(ask(worker, "k").outcome().error.code, kRateLimitExceeded.code);
        const Outcome& banned = ask(worker, "k").outcome();
        EXPECT_EQ(banned.verdict, Verdict::kBanned);
        EXPECT_EQ(banned.error.code, kApiKeyBanned.code);
        bans.push_back(banned.retry_after);
        const auto calls = worker.transport.calls;
        EXPECT_EQ(ask(worker, "k").outcome().verdict, Verdict::kBanned);
        EXPECT_EQ(worker.transport.calls, calls) << "a ban needs no call";
        run_for(std::chrono::seconds(banned.retry_after));
    }
    EXPECT_EQ(bans, (std::vector<std::int64_t>{10, 20, 30}));
}

TEST_F(AdmissionTest, AFreeRequestTakesNothing) {
    add_key("k");
    Worker& worker = start();
    granted(worker, "k", 12);
    EXPECT_EQ(ask(worker, "k", {.cost = 0}).status(), 0);
    EXPECT_EQ(counted("k"), 10);
}

class CheckedAgainTest : public EngineTest {
  protected:
    /// A request that another admission has counted: its key is checked again.
    static constexpr RequestOptions kCheckedAgain{.checks_key_only = true, .scopes = "admin"};

    /// A worker that has granted a request of the key "k".
    Worker& start_with_key() {
        add_key("k");
        record().scopes = "admin";
        Worker& worker = start();
        EXPECT_EQ(ask(worker, "k").status(), 0);
        return worker;
    }
    KeyRecord& record() { return redis.records.begin()->second; }
    /// The status of the check after a change of the key.
    int status_after_change(Worker& worker) {
        run_for(1ms);
        worker.engine.identity().changes.on_change("k");
        return ask(worker, "k", kCheckedAgain).status();
    }
};

TEST_F(CheckedAgainTest, AValidKeyIsGrantedFromTheCacheAndTakesNothing) {
    Worker& worker = start_with_key();
    granted(worker, "k", 12);
    const auto calls = worker.transport.calls;
    EXPECT_EQ(ask(worker, "k", kCheckedAgain).status(), 0) << "its quota is spent";
    EXPECT_EQ(worker.transport.calls, calls);
    EXPECT_EQ(counted("k"), 10);
}

TEST_F(CheckedAgainTest, AChangedKeyIsRefused) {
    Worker& worker = start_with_key();
    EXPECT_EQ(status_after_change(worker), 0) << "it is still valid";
    record().scopes = "other";
    EXPECT_EQ(status_after_change(worker), 403);
    record().scopes = "admin";
    record().plan = "gold";
    EXPECT_EQ(status_after_change(worker), 403);
    redis.records.clear();
    EXPECT_EQ(status_after_change(worker), 401);
}

TEST_F(CheckedAgainTest, WithoutRedisItIsRefusedWhateverOnFailureIs) {
    for (const auto policy : {FailurePolicy::kAllow, FailurePolicy::kLocal, FailurePolicy::kDeny}) {
        settings.on_failure = policy;
        Worker& worker = start_with_key();
        EXPECT_EQ(ask(worker, "k", kCheckedAgain).status(), 0) << "the record is fresh";
        worker.transport.reachable = false;
        EXPECT_EQ(status_after_change(worker), 503);
    }
}

TEST_F(CheckedAgainTest, AnUnansweredLookUpIsRefusedWith503) {
    settings.on_failure = FailurePolicy::kAllow;
    Worker& worker = start_with_key();
    run_for(1ms);
    worker.engine.identity().changes.on_change("k");
    worker.transport.choose_fate = [](const redis::Call&) {
        return SimulatedTransport::Fate::kNotExecuted;
    };
    Request& request = begin(worker, "k", kCheckedAgain);
    run_for(10ms);
    ASSERT_EQ(request.status(), -1);
    request.admission.time_out();
    EXPECT_EQ(request.status(), 503);
}

TEST_F(AdmissionTest, ACostThatThrowsIsRefusedWith503) {
    add_key("k");
    Worker& worker = start();
    Request& request = begin(worker, "k", {});
    request.cost_throws = true;
    run_for(20ms);
    EXPECT_EQ(request.status(), 503);
    EXPECT_EQ(request.outcome().retry_after, 1);
    EXPECT_EQ(request.outcomes, 1);
    EXPECT_EQ(worker.log.critical, 1);
}

TEST_F(AdmissionTest, AnAddressWithoutABudgetLeftGets429) {
    tables[0].anonymous = {{3, 60s}};
    tables[0].anonymous_policies = {"anonymous-minute"};
    Worker& worker = start();
    for (int i = 0; i < 3; ++i) {
        EXPECT_EQ(ask(worker, std::nullopt).status(), 401);
    }
    EXPECT_EQ(requests.back()->outcome().windows.front().remaining, 0);
    EXPECT_EQ(requests.back()->outcome().windows.front().policy, "anonymous-minute");
    EXPECT_EQ(ask(worker, std::nullopt).status(), 429);
    EXPECT_EQ(requests.back()->outcome().quotas, nullptr);
    EXPECT_GT(requests.back()->outcome().retry_after, 1);
}

TEST_F(AdmissionTest, FewUnknownKeysOfSuchAnAddressAreLookedUp) {
    tables[0].anonymous = {{3, 3600s}};
    tables[0].anonymous_policies = {"anonymous-hour"};
    add_key("k");
    Worker& worker = start();
    for (int i = 0; i < 50; ++i) {
        ask(worker, "made-up-" + std::to_string(i));
    }
    EXPECT_LE(statistics["commands.lookup"].value(), 3 + 10 * 2);
    EXPECT_EQ(requests.back()->status(), 429);
    EXPECT_EQ(requests.back()->outcome().retry_after, 1);
    worker.engine.identity().changes.on_change(hex(sha256("k")));
    EXPECT_EQ(ask(worker, "k").status(), 0) << "a key that `events` announced is looked up";
}

TEST_F(AdmissionTest, AChangedKeyIsLookedUpAgain) {
    add_key("k");
    Worker& worker = start();
    ask(worker, "k");
    redis.records.clear();
    EXPECT_EQ(ask(worker, "k").status(), 0);
    run_for(1ms);
    worker.engine.identity().changes.on_change("k");
    EXPECT_EQ(ask(worker, "k").status(), 401);
}

TEST_F(AdmissionTest, WithoutASubscriptionARecordHoldsForASecond) {
    add_key("k");
    Worker& worker = start();
    worker.engine.identity().changes.on_subscribed(false);
    ask(worker, "k");
    redis.records.clear();
    EXPECT_EQ(ask(worker, "k").status(), 0);
    run_for(1s);
    EXPECT_EQ(ask(worker, "k").status(), 401);
}

TEST_F(AdmissionTest, AnExpiredKeyIsRefused) {
    add_key("k");
    Worker& worker = start();
    ask(worker, "k");
    worker.clock.start += 24h * 365;
    auto& record = redis.records.begin()->second;
    record.expires = std::chrono::floor<std::chrono::seconds>(worker.clock.wall()) - 1s;
    worker.engine.identity().changes.on_change("k");
    EXPECT_EQ(ask(worker, "k").status(), 401);
}

class OutageTest : public EngineTest {
  protected:
    /// A worker that knows the key "k" and has lost its Redis.
    Worker& start_in_outage() {
        add_key("k");
        Worker& worker = start();
        EXPECT_EQ(ask(worker, "k").status(), 0);
        worker.transport.reachable = false;
        return worker;
    }
};

TEST_F(OutageTest, LocalCountsOn) {
    Worker& worker = start_in_outage();
    EXPECT_EQ(granted(worker, "k", 20), 9);
    EXPECT_EQ(requests[1]->outcome().verdict, Verdict::kDegraded);
    EXPECT_EQ(requests.back()->outcome().verdict, Verdict::kLimited);
    EXPECT_EQ(counted("k"), 1);
    worker.transport.reachable = true;
    run_for(1s);
    EXPECT_EQ(counted("k"), 10) << "it is reported";
    EXPECT_EQ(statistics["owed_units.settled"].value(), 9);
}

TEST_F(OutageTest, AllowGrantsWithoutACount) {
    settings.on_failure = FailurePolicy::kAllow;
    Worker& worker = start_in_outage();
    EXPECT_EQ(granted(worker, "k", 20), 20);
    EXPECT_TRUE(requests.back()->outcome().windows.empty());
    worker.transport.reachable = true;
    run_for(1s);
    EXPECT_EQ(counted("k"), 1);
}

TEST_F(OutageTest, AllowForbidsAKeyWithInvalidLimits) {
    settings.on_failure = FailurePolicy::kAllow;
    settings.key_cache = 1s;
    tables[0].plans[0].kind = Plan::Kind::kCustom;
    add_key("k", "free", true, "many");
    Worker& worker = start();
    EXPECT_EQ(ask(worker, "k").status(), 403);
    run_for(2s);
    worker.transport.reachable = false;
    EXPECT_EQ(ask(worker, "k").status(), 403) << "as while Redis is reachable";
}

TEST_F(OutageTest, DenyRefuses) {
    settings.on_failure = FailurePolicy::kDeny;
    EXPECT_EQ(ask(start_in_outage(), "k").status(), 503);
    EXPECT_EQ(requests.back()->outcome().verdict, Verdict::kUnavailable);
    EXPECT_EQ(requests.back()->outcome().retry_after, 1);
}

TEST_F(OutageTest, AnUnknownKeyIsRefusedWith503) {
    EXPECT_EQ(ask(start_in_outage(), "other").status(), 503);
}

TEST_F(OutageTest, AKeyIsServedForStaleKeysOnly) {
    settings.key_cache = 1s;
    settings.stale_keys = 5s;
    Worker& worker = start_in_outage();
    run_for(2s);
    EXPECT_EQ(ask(worker, "k").status(), 0);
    run_for(4s);
    EXPECT_EQ(ask(worker, "k").status(), 503);
}

TEST_F(OutageTest, AKeyWhosePlanIsGoneIsForbidden) {
    settings.key_cache = 1s;
    start_in_outage();
    run_for(2s);
    tables[0].plans[0].name = "other";
    Worker& after_reload = start();
    after_reload.transport.reachable = false;
    EXPECT_EQ(ask(after_reload, "k").status(), 403);
}

TEST_F(OutageTest, ARequestOfAnyCostIsCounted) {
    Worker& worker = start_in_outage();
    Request& request = *requests.emplace_back(std::make_unique<Request>(worker, RequestOptions{}));
    request.own_cost = 5;
    request.admission.start("k");
    EXPECT_EQ(request.outcome().verdict, Verdict::kDegraded);
    EXPECT_EQ(request.outcome().windows.front().remaining, 4);
}

TEST_F(OutageTest, ATimeOutAppliesOnFailure) {
    add_key("k");
    Worker& worker = start();
    ask(worker, "k");
    worker.transport.choose_fate = [](const redis::Call&) {
        return SimulatedTransport::Fate::kNotExecuted;
    };
    Request& request = begin(worker, "k");
    run_for(10ms);
    ASSERT_EQ(request.status(), -1);
    request.admission.time_out();
    EXPECT_EQ(request.outcome().verdict, Verdict::kDegraded);
    run_for(1s);
    EXPECT_EQ(request.outcomes, 1);
}

TEST_F(AdmissionTest, ARequestThatEndsGetsNoCallback) {
    add_key("k");
    Worker& worker = start();
    Request& in_lookup = begin(worker, "k");
    in_lookup.admission.abandon();
    ask(worker, "k");
    Request& in_acquire = begin(worker, "k");
    run_for(0ms);
    in_acquire.admission.abandon();
    run_for(kLeaseTime + 1s);
    EXPECT_EQ(in_lookup.outcomes + in_acquire.outcomes, 0);
    EXPECT_EQ(counted("k"), 1) << "what was granted to nobody went back";
}

TEST_F(AdmissionTest, ABypassedRequestNeedsNoKey) {
    Worker& worker = start();
    Request request(worker, RequestOptions{});
    request.admission.bypass();
    EXPECT_EQ(request.outcome().verdict, Verdict::kBypassed);
    EXPECT_FALSE(request.outcome().is_granted());
    EXPECT_EQ(request.status(), 0);
}

TEST_F(AdmissionTest, AKeyHasAPlaceInOtherTablesOfItsPlanAndRedis) {
    add_key("k");
    Worker& worker = start();
    Worker& other = start();
    const Request& request = ask(worker, "k");
    EXPECT_FALSE(request.admission.refusal_in(worker.tables, ""));
    EXPECT_EQ(request.admission.refusal_in(other.tables, "")->code, kPlanNotAllowed.code)
        << "another Redis";
    PlanTable gold;
    gold.plans.push_back({});
    gold.plans[0].name = "gold";
    const std::vector<const PlanTable*> set{&gold};
    const TableSet golden(set, std::nullopt, worker.engine, {});
    EXPECT_EQ(request.admission.refusal_in(golden, "")->code, kPlanNotAllowed.code);
    EXPECT_EQ(request.admission.refusal_in(worker.tables, "admin")->code, kInsufficientScope.code);
    Request forbidden(worker, {});
    forbidden.admission.forbid(kPlanNotAllowed, request.outcome().record);
    EXPECT_EQ(forbidden.status(), 403);
    EXPECT_EQ(forbidden.outcome().error.code, kPlanNotAllowed.code);
    EXPECT_EQ(forbidden.outcome().key().id, "k");
}

TEST_F(AdmissionTest, StatisticsAreFoundByPlan) {
    Worker& worker = start();
    RequestStatistics free;
    RequestStatistics none;
    const TableSet counted_set(set, std::nullopt, worker.engine, {&free, &none});
    KeyRecord record;
    record.plan = "free";
    EXPECT_EQ(counted_set.statistics_of(&record), &free);
    EXPECT_EQ(worker.tables.statistics_of(&record), nullptr);
    EXPECT_EQ(counted_set.statistics_of(nullptr), &none);
    record.plan = "gold";
    EXPECT_EQ(counted_set.statistics_of(&record), &none) << "the table does not have this plan";
}

/// Every allocation fails in turn, at each step of a request.
TEST_F(AdmissionTest, ShortMemoryEndsARequestWith503AndLosesNothing) {
    tables[0].plans[0].rates = {{1000, 60s}};
    add_table("search", {{1000, 60s}});
    add_key("k");
    Worker& worker = start();
    ASSERT_EQ(ask(worker, "k").status(), 0);
    int granted_count = 1;
    int refused = 0;
    for (int n = 0; n < 120; ++n) {
        worker.transport.reachable = n % 3 != 2;
        if (n % 4 == 0) {
            worker.engine.identity().changes.on_change("k");
        }
        Request request(worker, {1});
        allocations_left = n;
        request.admission.start("k");
        allocations_left = -1;
        run_for(20ms);
        ASSERT_EQ(request.outcomes, 1) << n;
        granted_count += request.status() == 0 ? 1 : 0;
        refused += request.status() == 503 ? 1 : 0;
        EXPECT_TRUE(request.status() == 0 || request.status() == 429 || request.status() == 503);
    }
    EXPECT_GT(refused, 0);
    worker.transport.reachable = true;
    run_for(kLeaseTime + 1s);
    EXPECT_EQ(counted("k", 1), granted_count);
}

}  // namespace
}  // namespace tollgate::engine
