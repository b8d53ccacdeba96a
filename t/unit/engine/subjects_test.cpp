// Requests with a subject, which another module of nginx has established, in place of a key.

#include <string>

#include "t/unit/engine/engine_fixture.hpp"

namespace tollgate::engine {
namespace {

class SubjectsTest : public EngineTest {
  protected:
    static constexpr Subject kUser{.id = "user", .plan = "free"};

    std::string code(Worker& worker, const Subject& subject, const RequestOptions& options = {}) {
        return std::string(ask(worker, subject, options).outcome().error.code);
    }
    /// A plan of this name.
    void add_plan(const std::string& name, std::vector<Rate> rates) {
        Plan plan;
        plan.name = name;
        plan.rates = std::move(rates);
        tables[0].plans.push_back(plan);
    }
};

TEST_F(SubjectsTest, ASubjectIsGrantedUpToTheLimitOfItsPlanWithoutALookUp) {
    Worker& worker = start();
    EXPECT_EQ(granted(worker, kUser, 15), 10);
    EXPECT_EQ(counted("user"), 10);
    const Outcome& last = requests.back()->outcome();
    EXPECT_EQ(last.status, 429);
    EXPECT_EQ(last.key().id, "user");
    EXPECT_FALSE(last.key_was_sent);
    EXPECT_EQ(statistics["commands.lookup"].value(), 0);
    EXPECT_EQ(statistics["key_cache_lookups.miss"].value(), 0);
}

TEST_F(SubjectsTest, WithoutAPlanItHasTheDefaultOfEachTable) {
    add_plan("wide", {{100, 60s}});
    tables[0].default_plan = "free";
    PlanTable& other = add_table("other", {{1000, 60s}});
    other.plans.push_back(tables[0].plans[1]);
    other.default_plan = "wide";
    Worker& worker = start();
    const Request& request = ask(worker, Subject{.id = "user"});
    EXPECT_EQ(request.status(), 0);
    ASSERT_EQ(request.outcome().windows.size(), 2U);
    EXPECT_EQ(request.outcome().windows[0].rate.requests, 10);
    EXPECT_EQ(request.outcome().windows[1].rate.requests, 100);
    EXPECT_EQ(request.admission.plan(), "free") << "the first table's";
    EXPECT_EQ(ask(worker, Subject{.id = "user", .plan = "wide"}).admission.plan(), "wide");
}

TEST_F(SubjectsTest, WithoutAPlanAndADefaultItIsForbidden) {
    Worker& worker = start();
    EXPECT_EQ(code(worker, {.id = "user"}), kPlanNotAllowed.code);
    EXPECT_EQ(requests.back()->admission.plan(), "");
    EXPECT_EQ(code(worker, {.id = "user", .plan = "gold"}), kPlanNotAllowed.code);
    EXPECT_EQ(requests.back()->outcome().verdict, Verdict::kForbidden);
    EXPECT_EQ(worker.transport.calls, 0);
}

TEST_F(SubjectsTest, ACustomPlanHasNoLimitsForIt) {
    tables[0].plans[0].kind = Plan::Kind::kCustom;
    Worker& worker = start();
    EXPECT_EQ(code(worker, kUser), kPlanNotAllowed.code);
    EXPECT_EQ(worker.log.lines.size(), 1U);
}

TEST_F(SubjectsTest, AMalformedIdOrPlanIsForbidden) {
    Worker& worker = start();
    for (const Subject& subject : {Subject{.id = "CN=user", .plan = "free"},
                                   Subject{.id = "user", .plan = "free of charge"}}) {
        EXPECT_EQ(code(worker, subject), kInvalidSubject.code);
        EXPECT_EQ(requests.back()->status(), 403);
        EXPECT_EQ(requests.back()->outcome().verdict, Verdict::kForbidden);
        EXPECT_TRUE(requests.back()->outcome().key().id.empty());
    }
    EXPECT_EQ(worker.transport.calls, 0);
}

TEST_F(SubjectsTest, ATokenIsNeverASubject) {
    Worker& worker = start();
    EXPECT_EQ(granted(worker, kUser, 3), 3);
    const std::string token(SubjectText(kUser).view());
    EXPECT_EQ(ask(worker, token).status(), 401);
    EXPECT_EQ(counted("user"), 3);
}

TEST_F(SubjectsTest, AKeyOfTheSameIdHasTheSameQuota) {
    add_key("user");
    Worker& worker = start();
    EXPECT_EQ(granted(worker, kUser, 4), 4);
    EXPECT_EQ(granted(worker, std::string("user"), 4), 4);
    EXPECT_EQ(granted(worker, kUser, 4), 2);
    EXPECT_EQ(granted(worker, std::string("user"), 1), 0);
    EXPECT_EQ(counted("user"), 10);
}

TEST_F(SubjectsTest, APlanWithTheSameWindowsContinuesItsCounts) {
    add_plan("wide", {{13, 60s}});
    Worker& worker = start();
    EXPECT_EQ(granted(worker, kUser, 12), 10);
    EXPECT_EQ(granted(worker, Subject{.id = "user", .plan = "wide"}, 12), 3);
}

TEST_F(SubjectsTest, ItHasNoScopes) {
    Worker& worker = start();
    EXPECT_EQ(code(worker, kUser, {.scopes = "admin"}), kInsufficientScope.code);
    EXPECT_EQ(counted("user"), 0);
}

class BusySubjectTest : public SubjectsTest {
  protected:
    BusySubjectTest() { tables[0].plans[0].rates = {{1'000'000, 3600s}}; }
};

TEST_F(BusySubjectTest, LeasesAndSlicesServeItAndAreReturned) {
    Worker& worker = start();
    EXPECT_EQ(granted(worker, kUser, 3000), 3000);
    EXPECT_LT(worker.transport.calls, 300);
    const int locks = zone->locks();
    const auto by_lease = statistics["quota_decisions.lease"].value();
    EXPECT_EQ(granted(worker, kUser, 100), 100);
    EXPECT_GT(statistics["quota_decisions.lease"].value(), by_lease + 50);
    EXPECT_LT(zone->locks() - locks, 60) << "in the worker's own memory";
    run_for(10s);
    EXPECT_EQ(counted("user"), 3100);
}

TEST_F(BusySubjectTest, IsServedHoweverLongAgoItWasFirstSeen) {
    Worker& worker = start();
    EXPECT_EQ(ask(worker, kUser).status(), 0);
    run_for(std::chrono::hours(3));
    worker.transport.reachable = false;
    EXPECT_EQ(ask(worker, kUser).status(), 0);
    EXPECT_EQ(requests.back()->outcome().verdict, Verdict::kDegraded);
}

TEST_F(SubjectsTest, InAnOutageItIsCountedAloneAndReportedOnce) {
    tables[0].plans[0].rates = {{10, 3600s}};
    Worker& worker = start();
    EXPECT_EQ(granted(worker, kUser, 2), 2);
    worker.transport.reachable = false;
    EXPECT_EQ(granted(worker, kUser, 20), 8);
    EXPECT_EQ(counted("user"), 2);
    worker.transport.reachable = true;
    run_for(10s);
    EXPECT_EQ(counted("user"), 10);
}

TEST_F(SubjectsTest, ItNeedsNoRedisToBeKnown) {
    tables[0].plans[0].rates = {{10, 3600s}};
    Worker& worker = start();
    worker.transport.reachable = false;
    EXPECT_EQ(granted(worker, kUser, 20), 10);
    worker.transport.reachable = true;
    run_for(10s);
    EXPECT_EQ(counted("user"), 10);
}

TEST_F(SubjectsTest, OnFailureAppliesToIt) {
    settings.on_failure = FailurePolicy::kDeny;
    Worker& denying = start();
    denying.transport.reachable = false;
    EXPECT_EQ(ask(denying, kUser).status(), 503);
    settings.on_failure = FailurePolicy::kAllow;
    EXPECT_EQ(granted(denying, kUser, 20), 20);
}

TEST_F(SubjectsTest, IsBannedAndServedWhenTheBanIsLifted) {
    tables[0].plans[0].rates = {{1, 3600s}};
    ban = BanPolicy{.after = 3, .within = 60s, .first = 600s, .up_to = 600s};
    add_plan("wide", {{100, 3600s}});
    Worker& worker = start();
    EXPECT_EQ(granted(worker, kUser, 3), 1);
    const Subject wide{.id = "user", .plan = "wide"};
    ask(worker, kUser);
    EXPECT_EQ(code(worker, wide), kApiKeyBanned.code) << "a ban is one of the id";
    run_for(1ms);
    redis.counts.lift_ban("user");
    worker.engine.identity().changes.on_change("user");
    EXPECT_EQ(code(worker, wide), "");
}

TEST_F(SubjectsTest, ItsUseIsWrittenOnceAMinute) {
    Worker& worker = start();
    EXPECT_EQ(granted(worker, kUser, 3), 3);
    run_for(1100ms);
    const auto& uses = redis.uses[settings.keys.used("user")];
    ASSERT_EQ(uses.size(), 1U);
    EXPECT_EQ(uses.begin()->first, "subject");
    EXPECT_EQ(redis.use_writes, 1);
}

TEST_F(SubjectsTest, ManyOfThemReportWhatTheyOweInAFullZone) {
    tables[0].plans[0].rates = {{10, 3600s}};
    Worker& worker = start();
    worker.transport.reachable = false;
    int served = 0;
    for (int i = 0; i < 40; ++i) {
        const std::string id = "user-" + std::to_string(i);
        served += granted(worker, Subject{.id = id, .plan = "free"}, 1);
    }
    worker.transport.reachable = true;
    for (int i = 0; i < 2000; ++i) {
        const std::string id = "other-" + std::to_string(i);
        ask(worker, Subject{.id = id, .plan = "free"});
    }
    run_for(20s);
    int reported = 0;
    for (int i = 0; i < 40; ++i) {
        reported += static_cast<int>(counted("user-" + std::to_string(i)));
    }
    EXPECT_EQ(reported, served);
    EXPECT_EQ(served, 40);
}

}  // namespace
}  // namespace tollgate::engine
