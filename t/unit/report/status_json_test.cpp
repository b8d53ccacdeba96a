#include "module/report/status.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "t/unit/report/counted_redis.hpp"

namespace tollgate {
namespace {

using nlohmann::json;
using std::chrono::microseconds;
using std::chrono::seconds;

/// Without the last hour: see hour_test.cpp.
json parsed(const Status& status) {
    auto json = json::parse(status_json(status));
    EXPECT_EQ(json.erase("hour"), 1U);
    return json;
}

Status empty_status() {
    Status status;
    status.version = "1.2.3";
    status.now = std::chrono::sys_seconds(seconds(1'000'100));
    status.node.started.set(1'000'000);
    status.workers = 2;
    status.zone_size = 8 << 20;
    return status;
}

TEST(StatusJson, HasTheVersionAndTheStart) {
    EXPECT_EQ(
        parsed(empty_status()),
        json::parse(R"({"version":"1.2.3","start_time_seconds":1000000,"uptime":100,"workers":2,
                              "zone":{"size_bytes":8388608,"stores":{}},"requests":[],"redis":[]})"));
}

TEST(StatusJson, ShowsRequestsByVerdict) {
    auto status = empty_status();
    status.requests = {{"api+search", "free", {}, "requests+tokens"}, {"api", "", {}}};
    status.requests[0].counts.note(Verdict::kGranted, false);
    status.requests[0].counts.note(Verdict::kGranted, false, true);
    status.requests[0].counts.note(Verdict::kLimited, true);
    status.requests[1].counts.note(Verdict::kNone, false);
    const auto requests = parsed(status)["requests"];
    ASSERT_EQ(requests.size(), 2U);
    EXPECT_EQ(requests[0],
              json::parse(R"({"tables":"api+search","unit":"requests+tokens","plan":"free",
        "verdicts":{"abandoned":0,"granted":2,"limited":0,"banned":0,"unauthenticated":0,
                    "forbidden":0,"bypassed":0,"degraded":0,"unavailable":0},
        "dry_run":{"abandoned":0,"granted":0,"limited":1,"banned":0,"unauthenticated":0,
                   "forbidden":0,"bypassed":0,"degraded":0,"unavailable":0},
        "over":1})"));
    EXPECT_EQ(requests[1]["plan"], "");
    EXPECT_EQ(requests[1]["unit"], "");
    EXPECT_EQ(requests[1]["verdicts"]["abandoned"], 1);
}

TEST(StatusJson, ShowsARedis) {
    auto status = empty_status();
    status.redis = {{"main", {}}};
    count_each(status.redis[0]);
    status.redis[0].kind = "sentinel";
    status.redis[0].master = "10.0.0.1:6379";
    auto redis = parsed(status)["redis"][0];
    redis.erase("round_trip_seconds");
    EXPECT_FALSE(redis.contains("masters"));
    EXPECT_EQ(redis, json::parse(R"({"name":"main","kind":"sentinel",
        "master":"10.0.0.1:6379","nodes":25,"failovers":23,"commands":{"acquire":1,"lookup":2,"flight":31},
        "errors":3,"reconnects":4,"redirections":24,"tls_handshakes":21,"tls_resumed":22,
        "breaker_open_workers":1,"breaker_opened":5,"subscribed_workers":2,
        "key_cache_lookups":{"hit":6,"negative_hit":7,"miss":8},"retiring_key_uses":26,
        "quota_decisions":{"redis":9,"lease":10,"refusal":11,"alone":12},"leases":2,"leases_recalled":27,
        "lease_units":{"granted":14,"spent":15,"returned":16,"lost":17},
        "lost_calls":{"noted":34,"taken_back":35,"left":36},
        "cost_units":{"reserved":28,"settled":29},"flights":{"entered":32,"refused":33},"in_flight":30,
        "owed_units":{"noted":18,"settled":19,"lapsed":20},"usage_missing":0})"));
}

TEST(StatusJson, ShowsHoldsOfTheLockIfTheyAreMeasured) {
    auto status = empty_status();
    status.lock.emplace();
    status.lock->note(std::chrono::nanoseconds(0), std::chrono::nanoseconds(3));
    status.lock->note(std::chrono::nanoseconds(8), std::chrono::nanoseconds(4));
    EXPECT_EQ(parsed(status)["lock"], json::parse(R"({"holds":2,
        "held_nanoseconds":{"sum":7,"longest":4,
            "classes":[{"below":1,"count":0},{"below":2,"count":0},{"below":4,"count":1},
                       {"below":8,"count":1}]},
        "waited_nanoseconds":{"sum":8,"longest":8,
            "classes":[{"below":1,"count":1},{"below":2,"count":0},{"below":4,"count":0},
                       {"below":8,"count":0},{"below":16,"count":1}]}})"));
}

TEST(StatusJson, ShowsNoMasterThatIsNotKnown) {
    auto status = empty_status();
    status.redis = {{"main", {}}};
    const auto redis = parsed(status)["redis"][0];
    EXPECT_EQ(redis["kind"], "server");
    EXPECT_FALSE(redis.contains("master"));
}

TEST(StatusJson, ShowsRoundTripsCumulatively) {
    auto status = empty_status();
    status.redis = {{"main", {}}};
    auto& round_trips = status.redis[0].counts.round_trips;
    round_trips.note(microseconds(40));
    round_trips.note(microseconds(90));
    round_trips.note(seconds(2));
    const auto shown = parsed(status)["redis"][0]["round_trip_seconds"];
    EXPECT_EQ(shown["count"], 3);
    EXPECT_DOUBLE_EQ(shown["sum"].get<double>(), 2.00013);
    ASSERT_EQ(shown["buckets"].size(), 14U);
    EXPECT_EQ(shown["buckets"][0], json::parse(R"({"le":0.00005,"count":1})"));
    EXPECT_EQ(shown["buckets"][1], json::parse(R"({"le":0.0001,"count":2})"));
    EXPECT_EQ(shown["buckets"][13], json::parse(R"({"le":1.0,"count":2})"));
}

TEST(StatusJson, ShowsTheStoresThatAreThere) {
    auto status = empty_status();
    auto& quotas = status.stores[static_cast<std::size_t>(Store::kLongQuotas)];
    quotas.size = 100;
    quotas.used = 40;
    quotas.evictions = 3;
    EXPECT_EQ(parsed(status)["zone"]["stores"],
              json::parse(R"({"long_quotas":{"entries":40,"entries_max":100,"evictions":3}})"));
}

TEST(StatusJson, EscapesNames) {
    auto status = empty_status();
    status.redis = {{"a\"\\\n\xff", {}}};
    EXPECT_EQ(parsed(status)["redis"][0]["name"], "a\"\\\n\xef\xbf\xbd");
}

TEST(StatusJson, ListsTheMastersOfACluster) {
    Status status;
    status.redis.resize(1);
    status.redis[0].kind = "cluster";
    status.redis[0].masters = {{"10.0.0.1:7000", 16000, true}, {"10.0.0.2:7000", 384, false}};
    status.redis[0].map_age = std::chrono::seconds(7);
    const auto redis = parsed(status)["redis"][0];
    EXPECT_EQ(redis["masters"], json::parse(R"([
        {"address":"10.0.0.1:7000","slots":16000,"reachable":true},
        {"address":"10.0.0.2:7000","slots":384,"reachable":false}])"));
    EXPECT_EQ(redis["slot_map_age_seconds"], 7);
}

TEST(StatusJson, ShowsOnFailureOfAConfiguredRedis) {
    Status status;
    status.redis.resize(2);
    status.redis[0].is_configured = true;
    status.redis[0].on_failure = "deny";
    const auto redis = parsed(status)["redis"];
    EXPECT_EQ(redis[0]["on_failure"], "deny");
    EXPECT_FALSE(redis[1].contains("on_failure"));
}

TEST(Readiness, NeedsEveryConfiguredRedis) {
    auto status = empty_status();
    EXPECT_TRUE(is_ready(status));
    status.redis = {{"main", {}}, {"other", {}}, {"removed", {}}};
    status.redis[0].is_configured = true;
    status.redis[1].is_configured = true;
    status.redis[2].workers.breaker_open.start(0, 77);
    status.redis[2].workers.breaker_open.insert(0, 77);
    EXPECT_TRUE(is_ready(status));
    status.redis[1].workers.breaker_open.start(1, 78);
    status.redis[1].workers.breaker_open.insert(1, 78);
    EXPECT_FALSE(is_ready(status)) << "one worker of two";
    EXPECT_EQ(json::parse(readiness_json(status)),
              json::parse(R"({"ready":false,"redis":[{"name":"main","reachable":true},
                                                     {"name":"other","reachable":false}]})"));
}

}  // namespace
}  // namespace tollgate
