#include "module/report/status.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <vector>

#include "t/unit/report/counted_redis.hpp"

namespace tollgate {
namespace {

using std::chrono::microseconds;
using std::chrono::seconds;

std::vector<std::string> lines_of(const std::string& text) {
    std::vector<std::string> lines;
    std::istringstream stream(text);
    for (std::string line; std::getline(stream, line);) {
        lines.push_back(line);
    }
    return lines;
}

std::vector<std::string> lines_of(const Status& status, const std::string& beginning) {
    auto lines = lines_of(status_prometheus(status));
    std::erase_if(lines, [&](const auto& line) { return !line.starts_with(beginning); });
    return lines;
}

/// A status with every member.
Status full_status() {
    Status status;
    status.version = "1.2.3";
    status.node.started.set(1'000'000);
    status.workers = 2;
    status.zone_size = 8 << 20;
    for (auto& store : status.stores) {
        store.size = 10;
    }
    status.requests = {{"api", "free", {}, "tokens"}, {"api+search", "", {}}};
    status.redis = {{"main", {}}, {"second", {}}};
    for (auto& redis : status.redis) {
        redis.is_configured = true;
    }
    return status;
}

// Format 0.0.4: HELP and TYPE once, then all samples of the family in a row.
TEST(StatusPrometheus, IsWellFormed) {
    const std::string text = status_prometheus(full_status());
    ASSERT_TRUE(text.ends_with('\n'));
    const std::regex comment(R"(# (HELP|TYPE) (tollgate_[a-z_]+) (.+))");
    const std::regex sample(
        R"re((tollgate_[a-z_]+)(\{[a-z_]+="(?:[^"\\]|\\["\\n])*"(?:,[a-z_]+="(?:[^"\\]|\\["\\n])*")*\})? (\d+(?:\.\d+)?))re");
    std::map<std::string, std::string> types;
    std::set<std::string> helped;
    std::set<std::string> series;
    std::string family;
    for (const auto& line : lines_of(text)) {
        std::smatch match;
        if (std::regex_match(line, match, comment)) {
            if (match[1] == "HELP") {
                EXPECT_TRUE(helped.insert(match[2]).second) << line;
                family = match[2];
                continue;
            }
            EXPECT_EQ(match[2], family) << line;
            EXPECT_TRUE(types.emplace(match[2], match[3]).second) << line;
            continue;
        }
        ASSERT_TRUE(std::regex_match(line, match, sample)) << line;
        EXPECT_TRUE(series.insert(match[1].str() + match[2].str()).second) << line;
        const std::string suffix = match[1].str().substr(family.size());
        EXPECT_TRUE(match[1].str().starts_with(family)) << line;
        if (types[family] == "histogram") {
            EXPECT_TRUE(suffix == "_bucket" || suffix == "_sum" || suffix == "_count") << line;
        } else {
            EXPECT_EQ(suffix, "") << line;
            EXPECT_EQ(types[family] == "counter", family.ends_with("_total")) << line;
        }
    }
}

TEST(StatusPrometheus, HasTheVersionAndTheStart) {
    const auto status = full_status();
    const auto has = [&](const std::string& line) { return lines_of(status, line).size() == 1; };
    EXPECT_TRUE(has("tollgate_info{version=\"1.2.3\"} 1"));
    EXPECT_TRUE(has("tollgate_start_time_seconds 1000000"));
    EXPECT_TRUE(has("tollgate_workers 2"));
    EXPECT_TRUE(has("tollgate_zone_size_bytes 8388608"));
    EXPECT_TRUE(has("# TYPE tollgate_requests_total counter"));
}

TEST(StatusPrometheus, ShowsRequestsByVerdict) {
    auto status = full_status();
    status.requests[0].counts.note(Verdict::kGranted, false);
    status.requests[0].counts.note(Verdict::kLimited, true);
    status.requests[1].counts.note(Verdict::kUnauthenticated, false);
    EXPECT_EQ(
        lines_of(status, "tollgate_requests_total{tables=\"api\","),
        (std::vector<std::string>{
            R"(tollgate_requests_total{tables="api",unit="tokens",plan="free",verdict="abandoned"} 0)",
            R"(tollgate_requests_total{tables="api",unit="tokens",plan="free",verdict="granted"} 1)",
            R"(tollgate_requests_total{tables="api",unit="tokens",plan="free",verdict="limited"} 0)",
            R"(tollgate_requests_total{tables="api",unit="tokens",plan="free",verdict="banned"} 0)",
            R"(tollgate_requests_total{tables="api",unit="tokens",plan="free",verdict="unauthenticated"} 0)",
            R"(tollgate_requests_total{tables="api",unit="tokens",plan="free",verdict="forbidden"} 0)",
            R"(tollgate_requests_total{tables="api",unit="tokens",plan="free",verdict="bypassed"} 0)",
            R"(tollgate_requests_total{tables="api",unit="tokens",plan="free",verdict="degraded"} 0)",
            R"(tollgate_requests_total{tables="api",unit="tokens",plan="free",verdict="unavailable"} 0)"}));
    const auto is_one = [&](const std::string& series) {
        return lines_of(status, series + " ") == std::vector{series + " 1"};
    };
    EXPECT_TRUE(is_one(
        R"(tollgate_dry_run_requests_total{tables="api",unit="tokens",plan="free",verdict="limited"})"));
    EXPECT_TRUE(is_one(
        R"(tollgate_requests_total{tables="api+search",unit="",plan="",verdict="unauthenticated"})"));
}

TEST(StatusPrometheus, ShowsRoundTripsCumulatively) {
    auto status = full_status();
    status.redis.pop_back();
    auto& round_trips = status.redis[0].counts.round_trips;
    round_trips.note(microseconds(40));
    round_trips.note(microseconds(90));
    round_trips.note(microseconds(2500));
    round_trips.note(seconds(2));
    EXPECT_EQ(lines_of(status, "tollgate_redis_round_trip_seconds"),
              (std::vector<std::string>{
                  R"(tollgate_redis_round_trip_seconds_bucket{redis="main",le="0.00005"} 1)",
                  R"(tollgate_redis_round_trip_seconds_bucket{redis="main",le="0.0001"} 2)",
                  R"(tollgate_redis_round_trip_seconds_bucket{redis="main",le="0.00025"} 2)",
                  R"(tollgate_redis_round_trip_seconds_bucket{redis="main",le="0.0005"} 2)",
                  R"(tollgate_redis_round_trip_seconds_bucket{redis="main",le="0.001"} 2)",
                  R"(tollgate_redis_round_trip_seconds_bucket{redis="main",le="0.0025"} 3)",
                  R"(tollgate_redis_round_trip_seconds_bucket{redis="main",le="0.005"} 3)",
                  R"(tollgate_redis_round_trip_seconds_bucket{redis="main",le="0.01"} 3)",
                  R"(tollgate_redis_round_trip_seconds_bucket{redis="main",le="0.025"} 3)",
                  R"(tollgate_redis_round_trip_seconds_bucket{redis="main",le="0.05"} 3)",
                  R"(tollgate_redis_round_trip_seconds_bucket{redis="main",le="0.1"} 3)",
                  R"(tollgate_redis_round_trip_seconds_bucket{redis="main",le="0.25"} 3)",
                  R"(tollgate_redis_round_trip_seconds_bucket{redis="main",le="0.5"} 3)",
                  R"(tollgate_redis_round_trip_seconds_bucket{redis="main",le="1"} 3)",
                  R"(tollgate_redis_round_trip_seconds_bucket{redis="main",le="+Inf"} 4)",
                  R"(tollgate_redis_round_trip_seconds_sum{redis="main"} 2.00263)",
                  R"(tollgate_redis_round_trip_seconds_count{redis="main"} 4)"}));
}

TEST(StatusPrometheus, ShowsNoGaugesOfARemovedRedis) {
    auto status = full_status();
    status.redis[1].is_configured = false;
    for (const std::string gauge : {"nodes", "breaker_open_workers", "subscribed_workers"}) {
        const auto family = "tollgate_redis_" + gauge;
        EXPECT_EQ(lines_of(status, family + "{redis=\"main\"}").size(), 1U) << gauge;
        EXPECT_EQ(lines_of(status, family + "{redis=\"second\"}").size(), 0U) << gauge;
    }
    EXPECT_EQ(lines_of(status, "tollgate_redis_errors_total{redis=\"second\"}").size(), 1U)
        << "its counters remain";
}

TEST(StatusPrometheus, ShowsEveryCounterOfARedis) {
    auto status = full_status();
    status.redis[1].master = "[::1]:6379";
    status.redis[1].masters = {{"10.0.0.1:7000", 16000, true}};
    status.redis[1].map_age = std::chrono::seconds(7);
    count_each(status.redis[1]);
    std::vector<std::string> shown;
    const std::string label = R"(redis="second")";
    for (const auto& line : lines_of(status, "tollgate_")) {
        const auto at = line.find(label);
        if (at != std::string::npos && !line.ends_with(" 0")) {
            shown.push_back(line.substr(9, at - 10) + line.substr(at + label.size()));
        }
    }
    EXPECT_EQ(shown,
              (std::vector<std::string>{R"(redis_commands_total,command="acquire"} 1)",
                                        R"(redis_commands_total,command="lookup"} 2)",
                                        R"(redis_commands_total,command="flight"} 31)",
                                        "redis_errors_total} 3",
                                        "redis_reconnects_total} 4",
                                        "redis_redirections_total} 24",
                                        "redis_tls_handshakes_total} 21",
                                        "redis_tls_resumed_total} 22",
                                        "redis_breaker_opened_total} 5",
                                        "redis_failovers_total} 23",
                                        R"(redis_key_cache_lookups_total,result="hit"} 6)",
                                        R"(redis_key_cache_lookups_total,result="negative_hit"} 7)",
                                        R"(redis_key_cache_lookups_total,result="miss"} 8)",
                                        "redis_retiring_key_uses_total} 26",
                                        R"(redis_quota_decisions_total,by="redis"} 9)",
                                        R"(redis_quota_decisions_total,by="lease"} 10)",
                                        R"(redis_quota_decisions_total,by="refusal"} 11)",
                                        R"(redis_quota_decisions_total,by="alone"} 12)",
                                        "redis_leases_total} 2",
                                        "redis_leases_recalled_total} 27",
                                        R"(redis_lease_units_total,event="granted"} 14)",
                                        R"(redis_lease_units_total,event="spent"} 15)",
                                        R"(redis_lease_units_total,event="returned"} 16)",
                                        R"(redis_lease_units_total,event="lost"} 17)",
                                        R"(redis_lost_calls_total,event="noted"} 34)",
                                        R"(redis_lost_calls_total,event="taken_back"} 35)",
                                        R"(redis_lost_calls_total,event="left"} 36)",
                                        R"(redis_flights_total,event="entered"} 32)",
                                        R"(redis_flights_total,event="refused"} 33)",
                                        R"(redis_cost_units_total,event="reserved"} 28)",
                                        R"(redis_cost_units_total,event="settled"} 29)",
                                        R"(redis_owed_units_total,event="noted"} 18)",
                                        R"(redis_owed_units_total,event="settled"} 19)",
                                        R"(redis_owed_units_total,event="lapsed"} 20)",
                                        "redis_nodes} 25",
                                        "redis_in_flight} 30",
                                        "redis_breaker_open_workers} 1",
                                        "redis_subscribed_workers} 2",
                                        R"(redis_master_info,address="[::1]:6379"} 1)",
                                        R"(redis_master_slots,address="10.0.0.1:7000"} 16000)",
                                        R"(redis_master_reachable,address="10.0.0.1:7000"} 1)",
                                        "redis_slot_map_age_seconds} 7"}));
}

TEST(StatusPrometheus, ShowsTheStoresThatAreThere) {
    auto status = full_status();
    for (auto& store : status.stores) {
        store.size = 0;
    }
    auto& keys = status.stores[static_cast<std::size_t>(Store::kUnknownKeys)];
    keys.size = 100;
    keys.used = 40;
    keys.evictions = 3;
    EXPECT_EQ(
        lines_of(status, "tollgate_zone_e"),
        (std::vector<std::string>{R"(tollgate_zone_entries{store="unknown_keys"} 40)",
                                  R"(tollgate_zone_entries_max{store="unknown_keys"} 100)",
                                  R"(tollgate_zone_evictions_total{store="unknown_keys"} 3)"}));
}

TEST(StatusPrometheus, EscapesLabels) {
    auto status = full_status();
    status.redis = {{"a\"b\\c\nd", {}}};
    EXPECT_EQ(lines_of(status, "tollgate_redis_errors_total").front(),
              R"(tollgate_redis_errors_total{redis="a\"b\\c\nd"} 0)");
}

TEST(StatusPrometheus, NamesEveryVerdictAndStoreOnce) {
    std::set<std::string_view> names;
    for (const Verdict verdict : kVerdicts) {
        EXPECT_TRUE(names.insert(statistics_name(verdict)).second);
        EXPECT_EQ(kVerdicts[static_cast<std::size_t>(verdict)], verdict);
    }
    for (const Store store : kStores) {
        EXPECT_TRUE(names.insert(name_of(store)).second);
        EXPECT_EQ(kStores[static_cast<std::size_t>(store)], store);
    }
}

}  // namespace
}  // namespace tollgate
