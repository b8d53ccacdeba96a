#include "module/cli/simulation/simulation.hpp"

#include <gtest/gtest.h>

#include "module/cli/failure.hpp"
#include "module/cli/simulation/plan_file.hpp"
#include "module/cli/simulation/simulate.hpp"

namespace tollgate::cli {
namespace {

std::vector<IncludedFile> without_includes(const std::string& /*pattern*/) {
    return {};
}

using namespace std::chrono_literals;

constexpr auto kNoon = Instant(1795435200s);  // 2026-11-23T12:00:00Z

/// A simulation, to which requests are added.
class SimulatedLog {
  public:
    explicit SimulatedLog(std::string_view plans, const std::vector<std::string>& locations = {},
                          AssumedKeys keys = {}, std::size_t out_of_order = 1000)
        : tables_(parse_plan_file(plans, "api", without_includes)),
          simulation_(tables_, parse_locations(locations, tables_), std::move(keys), out_of_order) {
    }

    void add(std::chrono::milliseconds at, LoggedRequest request = {.id = "k", .plan = "free"}) {
        request.began = kNoon + at;
        simulation_.add(request);
    }

    SimulationResult finish() { return simulation_.finish(); }

  private:
    std::vector<PlanTable> tables_;
    Simulation simulation_;
};

TEST(Simulation, ReportsWhoWouldHaveBeenRefused) {
    SimulatedLog log("plan free 2r/m 5r/h;");
    for (const auto at : {0s, 1s, 2s, 3s, 60s, 61s, 62s, 120s, 125s, 126s, 127s}) {
        log.add(at);
        log.add(at, {.id = "other", .plan = "free", .cost = 0});
    }
    log.add(200s, {.id = "once", .plan = "free", .is_refused = true});
    const auto result = log.finish();
    EXPECT_EQ(result.requests, 23);
    EXPECT_EQ(result.ids, 3);
    EXPECT_EQ(result.refused, 6);
    EXPECT_EQ(result.refused_in_log, 1);
    EXPECT_EQ(result.first, kNoon);
    EXPECT_EQ(result.last, kNoon + 200s);
    ASSERT_EQ(result.refused_ids.size(), 1U);
    const auto& id = result.refused_ids.front();
    EXPECT_EQ(id.id, "k");
    EXPECT_EQ(id.plan, "free");
    EXPECT_EQ(id.requests, 11);
    EXPECT_EQ(id.refused, 6);
    EXPECT_EQ(id.refused_in_log, 0);
    EXPECT_EQ(id.first, kNoon + 2s);
    EXPECT_EQ(id.last, kNoon + 127s);
    ASSERT_EQ(id.windows.size(), 2U);
    // The hour refuses the last three, the minute the others.
    EXPECT_EQ(id.windows[0].period, 1h);
    EXPECT_EQ(id.windows[0].refused, 3);
    EXPECT_EQ(id.windows[0].worst, kNoon);
    EXPECT_EQ(id.windows[0].worst_refused, 3);
    EXPECT_EQ(id.windows[1].period, 1min);
    EXPECT_EQ(id.windows[1].refused, 3);
    EXPECT_EQ(id.windows[1].worst, kNoon);
    EXPECT_EQ(id.windows[1].worst_refused, 2);
    ASSERT_EQ(result.plans.size(), 1U);
    EXPECT_EQ(result.plans[0].ids, 3);
    EXPECT_EQ(result.plans[0].refused_ids, 1);
    EXPECT_EQ(result.plans[0].tables[0].limits, "2r/m 5r/h");
}

TEST(Simulation, SkipsWhatTheGatewayDoesNotCount) {
    SimulatedLog log("plan free 1r/m;");
    log.add(0s, {.has_id_field = true});
    log.add(0s, {.id = "k", .plan = "free", .is_forbidden = true});
    log.add(0s);
    const auto result = log.finish();
    EXPECT_TRUE(result.has_id_field);
    EXPECT_EQ(result.skipped.without_id, 1);
    EXPECT_EQ(result.skipped.forbidden, 1);
    EXPECT_EQ(result.requests, 1);
    EXPECT_EQ(result.refused, 0);
}

TEST(Simulation, PutsRequestsInOrder) {
    SimulatedLog log("plan free 2r/m;", {}, {}, 4);
    for (const auto at : {61s, 30s, 1s, 62s, 2s, 90s, 95s}) {
        log.add(at);
    }
    const auto result = log.finish();
    EXPECT_EQ(result.late, 0);
    EXPECT_EQ(result.refused, 3);
    EXPECT_EQ(result.refused_ids[0].first, kNoon + 30s);
    EXPECT_EQ(result.refused_ids[0].last, kNoon + 95s);
}

TEST(Simulation, CountsALateRequestInItsWindow) {
    SimulatedLog log("plan free 2r/m;", {}, {}, 2);
    for (const auto at : {1s, 61s, 62s, 63s, 64s, 65s, 66s, 67s, 2s, 3s}) {
        log.add(at);
    }
    const auto result = log.finish();
    EXPECT_EQ(result.late, 2);
    // Five of the second minute, and the third one of the first minute.
    EXPECT_EQ(result.refused, 6);
    EXPECT_EQ(result.refused_ids[0].first, kNoon + 3s);
}

TEST(Simulation, CountsARequestOnce) {
    const std::string a(32, 'a');
    const std::string b(32, 'b');
    SimulatedLog log("plan free 2r/m;");
    log.add(2s, {.id = "k", .plan = "free", .request = a});
    log.add(1s, {.id = "k", .plan = "free", .request = a});
    log.add(3s, {.id = "k", .plan = "free", .request = b});
    const auto result = log.finish();
    EXPECT_EQ(result.skipped.repeated, 1);
    EXPECT_EQ(result.requests, 2);
    EXPECT_EQ(result.refused, 0);
    EXPECT_EQ(result.first, kNoon + 1s) << "the request, not its subrequest";
}

TEST(Simulation, DecidesInTheTablesOfTheLocation) {
    SimulatedLog log(
        "tollgate_plans api { plan free 3r/m; } tollgate_plans search { plan free 1r/m; }",
        {"/v1/=api", "/v1/search/=api,search", "/v1/health=off"});
    const auto request = [](std::string_view uri) {
        return LoggedRequest{.id = "k", .plan = "free", .uri = uri};
    };
    log.add(1s, request("/v1/search/?q=1"));
    log.add(2s, request("/v1/search/?q=2"));
    log.add(3s, request("/v1/pets"));
    log.add(4s, request("/v1/pets"));
    log.add(5s, request("/v1/pets"));
    log.add(6s, request("/v1/health"));
    log.add(7s, request("/"));
    log.add(8s, request(""));
    const auto result = log.finish();
    EXPECT_EQ(result.skipped.outside, 3);
    EXPECT_EQ(result.requests, 5);
    ASSERT_EQ(result.refused_ids.size(), 1U);
    const auto& windows = result.refused_ids[0].windows;
    ASSERT_EQ(windows.size(), 2U);
    EXPECT_EQ(windows[0].table, "search");
    EXPECT_EQ(windows[1].table, "api") << "which does not count what search refuses";
    EXPECT_EQ(windows[1].worst_refused, 1);
}

TEST(Simulation, DecidesInAllTablesWithoutLocations) {
    SimulatedLog log(
        "tollgate_plans api { plan free 9r/m; } tollgate_plans search { plan free 1r/m; }");
    log.add(1s);
    log.add(2s);
    EXPECT_EQ(log.finish().refused, 1);
}

TEST(Simulation, KnowsEachKindOfPlan) {
    const auto run = [](AssumedKeys keys) {
        SimulatedLog log(
            "plan free 1r/m in_flight=7; plan all unlimited in_flight=8; plan own custom;", {},
            std::move(keys));
        for (const auto* plan : {"free", "all", "own", "other", ""}) {
            log.add(1s, {.id = plan, .plan = plan});
            log.add(2s, {.id = "x", .plan = plan});
            log.add(3s, {.id = "x", .plan = plan});
        }
        return log.finish();
    };
    const auto result = run({});
    const auto& plans = result.plans;  // by name
    ASSERT_EQ(plans.size(), 5U);
    EXPECT_EQ(plans[0].plan, "");
    EXPECT_EQ(plans[0].forbidden, 2);
    EXPECT_EQ(plans[1].tables[0].limits, "unlimited");
    EXPECT_EQ(plans[1].refused, 0);
    EXPECT_EQ(plans[2].refused, 1);
    EXPECT_EQ(plans[2].tables[0].limits, "1r/m") << "in_flight is not simulated";
    EXPECT_EQ(plans[3].plan, "other");
    EXPECT_EQ(plans[3].tables[0].limits, "");
    EXPECT_EQ(plans[3].forbidden, 3);
    EXPECT_EQ(plans[4].tables[0].limits, "custom");
    EXPECT_EQ(plans[4].without_limits, 3);
    EXPECT_EQ(result.forbidden, 5);
    EXPECT_EQ(result.without_limits, 3);
    const auto known = run({.plan = "free", .limits = "2r/m in_flight=9"});
    EXPECT_EQ(known.without_limits, 0);
    ASSERT_EQ(known.plans.size(), 4U);
    EXPECT_EQ(known.plans[1].plan, "free");
    EXPECT_EQ(known.plans[1].refused, 3) << "with those of the lines without a plan";
    EXPECT_EQ(known.plans[3].tables[0].limits, "2r/m");
}

TEST(Simulation, KeepsCountsWhenAPlanChanges) {
    SimulatedLog log("plan free 2r/m 9r/h; plan pro 3r/m 9r/d; default free;");
    for (const auto* plan : {"free", "free", "free", "pro", "pro", "old"}) {
        log.add(1s, {.id = "k", .plan = plan});
    }
    const auto result = log.finish();
    // The minute is the same one in all plans: two, and one more with the larger limit.
    EXPECT_EQ(result.refused, 3);
    EXPECT_EQ(result.refused_ids[0].plan, "old");
    EXPECT_EQ(result.plans[0].plan, "free");
    EXPECT_EQ(result.plans[0].ids, 0);
    EXPECT_EQ(result.plans[1].ids, 1);
    EXPECT_EQ(result.plans[1].tables[0].limits, "2r/m 9r/h") << "the default";
}

TEST(Simulation, ListsTheIdsWithMostRefusalsFirst) {
    SimulatedLog log("plan free 1r/m;");
    for (const auto* id : {"b", "c", "a"}) {
        for (int i = 0; i < (*id == 'c' ? 5 : 3); ++i) {
            log.add(1s, {.id = id, .plan = "free"});
        }
    }
    std::string order;
    for (const auto& id : log.finish().refused_ids) {
        order += id.id;
    }
    EXPECT_EQ(order, "cab");
}

TEST(Simulation, IsEmptyWithoutRequests) {
    const auto result = SimulatedLog("plan free 1r/m;").finish();
    EXPECT_EQ(result.requests, 0);
    EXPECT_TRUE(result.plans.empty());
}

TEST(SimulatedLocations, RefusesMistakes) {
    const auto tables = parse_plan_file("plan free 1r/m;", "api", without_includes);
    for (const std::vector<std::string>& values : {std::vector<std::string>{"/v1/"},
                                                   {"v1=api"},
                                                   {"/v1/=apj"},
                                                   {"/v1/="},
                                                   {"/v1/=api,"},
                                                   {"/v1/=api,api"},
                                                   {"/v1/=api", "/v1/=off"},
                                                   {""}}) {
        EXPECT_THROW(parse_locations(values, tables), Failure) << values.front();
    }
    EXPECT_EQ(parse_locations(std::vector<std::string>{"/a=b=api"}, tables)[0].prefix, "/a=b");
}

TEST(RecentRequests, RemembersAsManyAsItPromises) {
    constexpr std::uint64_t kMany = 100;
    RecentRequests recent(kMany);
    EXPECT_TRUE(recent.add(0));
    EXPECT_FALSE(recent.add(0));
    for (std::uint64_t i = 1; i < 1000; ++i) {
        EXPECT_TRUE(recent.add(i * 0x9e3779b97f4a7c15U));
        const auto earlier = i < kMany ? 1 : i - kMany + 1;
        EXPECT_FALSE(recent.add(earlier * 0x9e3779b97f4a7c15U)) << i;
    }
    EXPECT_TRUE(recent.add(0)) << "it is forgotten";
}

}  // namespace
}  // namespace tollgate::cli
