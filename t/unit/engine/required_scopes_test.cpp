// Requests of locations that require scopes, in every way in which a node decides.

#include "module/engine/admission.hpp"
#include "t/unit/engine/engine_fixture.hpp"

namespace tollgate::engine {
namespace {

class RequiredScopesTest : public EngineTest {
  protected:
    RequiredScopesTest() {
        add_key("k");
        record("k").scopes = "read write";
        add_key("none");
    }

    KeyRecord& record(const std::string& id) {
        return redis.records.at(settings.keys.key(hex(sha256(id))));
    }

    /// The code of the refusal of a request to a location with these scopes; empty if it is
    /// granted.
    std::string refusal(Worker& worker, const std::string& token, std::string_view scopes) {
        const Outcome& outcome = ask(worker, token, {.scopes = scopes}).outcome();
        EXPECT_EQ(outcome.status == 0, outcome.error.code.empty());
        return std::string(outcome.error.code);
    }
};

TEST_F(RequiredScopesTest, TheKeyMustHaveAllOfThem) {
    Worker& worker = start();
    EXPECT_EQ(refusal(worker, "k", ""), "");
    EXPECT_EQ(refusal(worker, "k", "read"), "");
    EXPECT_EQ(refusal(worker, "k", "read write"), "");
    EXPECT_EQ(refusal(worker, "k", "admin read"), "insufficient_scope");
    EXPECT_EQ(refusal(worker, "none", "read"), "insufficient_scope");
    EXPECT_EQ(refusal(worker, "none", ""), "");
    EXPECT_EQ(refusal(worker, "unknown", "read"), "invalid_api_key");
}

TEST_F(RequiredScopesTest, ARefusedRequestIsForbiddenAndCountedNowhere) {
    Worker& worker = start();
    for (int i = 0; i < 3; ++i) {
        const Outcome& outcome = ask(worker, "k", {.scopes = "admin"}).outcome();
        EXPECT_EQ(outcome.verdict, Verdict::kForbidden);
        EXPECT_EQ(outcome.status, 403);
        EXPECT_EQ(outcome.key().id, "k");
        EXPECT_TRUE(outcome.windows.empty());
    }
    EXPECT_EQ(counted("k"), 0);
    EXPECT_EQ(worker.transport.calls, 1) << "the look-up";
}

TEST_F(RequiredScopesTest, TheCostIsNotAskedFor) {
    Worker& worker = start();
    auto& request =
        requests.emplace_back(std::make_unique<Request>(worker, RequestOptions{.scopes = "admin"}));
    request->cost_throws = true;
    request->admission.start("k");
    run_for(20ms);
    EXPECT_EQ(request->status(), 403);
}

TEST_F(RequiredScopesTest, ASliceGrantsOnlyWhereTheKeyHasTheScopes) {
    tables[0].plans[0].rates = {{1'000'000, 3600s}};
    Worker& worker = start();
    for (int i = 0; i < 3000; ++i) {
        EXPECT_EQ(refusal(worker, "k", "read"), "");
    }
    const auto by_lease = statistics["quota_decisions.lease"].value();
    const int locks = zone->locks();
    int refused = 0;
    for (int i = 0; i < 200; ++i) {
        EXPECT_EQ(refusal(worker, "k", i % 2 == 0 ? "read" : "admin"),
                  i % 2 == 0 ? "" : "insufficient_scope");
        refused += i % 2;
    }
    EXPECT_EQ(refused, 100);
    EXPECT_GT(statistics["quota_decisions.lease"].value(), by_lease + 50) << "from slices";
    EXPECT_LT(zone->locks() - locks, 100) << "in the worker's own memory";
}

TEST_F(RequiredScopesTest, ARepeatedRefusalOfALimitIsNotForOtherLocations) {
    Worker& worker = start();
    EXPECT_EQ(granted(worker, "k", 10), 10);
    for (int i = 0; i < 5; ++i) {
        EXPECT_EQ(refusal(worker, "k", "read"), "rate_limit_exceeded");
        EXPECT_EQ(refusal(worker, "k", "admin"), "insufficient_scope");
    }
}

TEST_F(RequiredScopesTest, TheyAreRequiredWhileRedisIsUnreachable) {
    for (const auto policy : {FailurePolicy::kLocal, FailurePolicy::kAllow, FailurePolicy::kDeny}) {
        settings.on_failure = policy;
        settings.key_cache = 1s;
        Worker& worker = start();
        EXPECT_EQ(refusal(worker, "k", "read"), "");
        EXPECT_EQ(refusal(worker, "none", ""), "");
        worker.transport.reachable = false;
        for (int i = 0; i < 2; ++i) {
            const bool denies = policy == FailurePolicy::kDeny && i == 1;
            const std::string expected = denies ? "service_unavailable" : "insufficient_scope";
            EXPECT_EQ(refusal(worker, "k", "admin"), expected);
            EXPECT_EQ(refusal(worker, "none", "read"), expected);
            if (policy != FailurePolicy::kDeny) {
                EXPECT_EQ(refusal(worker, "k", "read write"), "");
            }
            run_for(2s);  // the records are stale
        }
    }
}

TEST_F(RequiredScopesTest, AChangeOfScopesTakesEffect) {
    Worker& worker = start();
    EXPECT_EQ(refusal(worker, "k", "admin"), "insufficient_scope");
    record("k").scopes = "admin";
    worker.engine.identity().changes.on_change("k");
    EXPECT_EQ(refusal(worker, "k", "admin"), "");
    EXPECT_EQ(refusal(worker, "k", "read"), "insufficient_scope");
}

TEST_F(RequiredScopesTest, AnUnlimitedPlanRequiresThemToo) {
    tables[0].plans[0].kind = Plan::Kind::kUnlimited;
    Worker& worker = start();
    EXPECT_EQ(refusal(worker, "k", "admin"), "insufficient_scope");
    EXPECT_EQ(refusal(worker, "k", "read"), "");
    worker.transport.reachable = false;
    EXPECT_EQ(refusal(worker, "k", "admin"), "insufficient_scope");
}

}  // namespace
}  // namespace tollgate::engine
