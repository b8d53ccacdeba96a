// Units that nodes lease, and the recall of those of other nodes.

#include "t/unit/redis/acquire_script.hpp"

namespace tollgate::redis {
namespace {

TEST_F(AcquireScript, LeasesAtMostAnEighthOfWhatIsLeft) {
    Acquire acquire = acquire_of({{101, kHour}, {1000, kDay}});
    acquire.lease = 5;
    auto acquired = decide(acquire);
    EXPECT_EQ(acquired.lease, 5);
    EXPECT_EQ(acquired.windows[1].count, 6);
    acquire.lease = 1000;
    acquired = decide(acquire);
    EXPECT_EQ(acquired.lease, (101 - 7) / 8);
    EXPECT_EQ(count(kHour), 7 + 11);
    EXPECT_EQ(count(kDay), 7 + 11);
    acquire.count = 100;
    acquired = decide(acquire);
    EXPECT_EQ(acquired.granted, 83);
    EXPECT_EQ(acquired.lease, 0);
    acquire.count = 0;
    EXPECT_EQ(decide(acquire).lease, 0);
    acquire.demand.cost = 0;
    put(kHour, 0, 200);
    EXPECT_EQ(decide(acquire).lease, 0);
}

/// Tables of one window, and the most frequent ones: two fixed windows.
class LeasesElsewhere : public AcquireScript,
                        public testing::WithParamInterface<std::vector<Rate>> {};
INSTANTIATE_TEST_SUITE_P(Windows, LeasesElsewhere,
                         testing::Values(std::vector<Rate>{{100, kHour}},
                                         std::vector<Rate>{{100, kHour}, {1000, kDay}}));

TEST_P(LeasesElsewhere, AreToldToAnotherNode) {
    Acquire acquire = acquire_of(GetParam());
    const auto leased_by = [&](const char* node) {
        context_.node = node;
        acquire.lease = 2;
        const Instant before = now();
        EXPECT_EQ(decide(acquire).lease, 2);
        return std::pair(before, now());
    };
    const auto told = [&](const char* node) {
        context_.node = node;
        acquire.lease = 0;
        const auto times = decide(acquire).leased_elsewhere;
        return times.empty() ? Instant{} : times.front().at;
    };
    const auto is_within = [](Instant at, std::pair<Instant, Instant> bounds) {
        return bounds.first <= at && at <= bounds.second;
    };
    leased_by("n1");
    EXPECT_EQ(told("n2"), Instant{}) << "it is granted, and a further request would be";
    put(kHour, 0, 99);
    EXPECT_EQ(told("n1"), Instant{}) << "a node knows its own leases";
    put(kHour, 0, 10);
    auto by_n1 = leased_by("n1");
    put(kHour, 0, 99);
    EXPECT_TRUE(is_within(told("n2"), by_n1)) << "the last unit is granted";
    EXPECT_TRUE(is_within(told("n2"), by_n1)) << "refused";
    put(kHour, 0, 10);
    const auto by_n2 = leased_by("n2");
    put(kHour, 0, 100);
    EXPECT_TRUE(is_within(told("n1"), by_n2));
    EXPECT_TRUE(is_within(told("n2"), by_n1));
    EXPECT_TRUE(is_within(told("n3"), by_n2)) << "the latest";
    put(kHour, 0, 10);
    leased_by("n2");
    by_n1 = leased_by("n1");
    put(kHour, 0, 100);
    EXPECT_TRUE(is_within(told("n2"), by_n1));
    put(kHour, 0, 10);
    EXPECT_EQ(told("n2"), Instant{});
}
TEST_P(LeasesElsewhere, AreRecalledOnce) {
    Acquire acquire = acquire_of(GetParam());
    const auto lease_at = [&](Instant time) {
        set_clock(time);
        context_.node = "n1";
        acquire.lease = 2;
        EXPECT_EQ(decide(acquire).lease, 2);
    };
    // Nothing is left for the node.
    const auto refuse_at = [&](Instant time, const char* node) {
        set_clock(time);
        context_.node = node;
        acquire.lease = 0;
        put(kHour, 0, 100);
        const LeaseElsewhere told = decide(acquire).leased_elsewhere.front();
        put(kHour, 0, 10);
        return told;
    };
    const auto published = [&] {
        const std::string info = redis_->text({"INFO", "commandstats"});
        const std::string name = "cmdstat_publish:calls=";
        const auto at = info.find(name);
        return at == std::string::npos ? 0 : std::stoi(info.substr(at + name.size()));
    };
    const int before = published();
    lease_at(start_);
    const LeaseElsewhere first{.at = start_, .recalled = start_ + 5ms};
    EXPECT_EQ(refuse_at(start_ + 5ms, "n2"), first);
    EXPECT_EQ(refuse_at(start_ + 6ms, "n2"), first) << "the nodes were told";
    EXPECT_EQ(refuse_at(start_ + 7ms, "n3"), first);
    EXPECT_EQ(published(), before + 1);
    lease_at(start_ + 8ms);
    const LeaseElsewhere second{.at = start_ + 8ms, .recalled = start_ + 9ms};
    EXPECT_EQ(refuse_at(start_ + 9ms, "n2"), second) << "a lease that is younger";
    EXPECT_EQ(published(), before + 2);
    EXPECT_EQ(refuse_at(start_ + 8ms, "n2").recalled, start_ + 8ms) << "the clock went back";
}

TEST_F(AcquireScript, RecallsNoLeaseThatWouldNotHelp) {
    Acquire acquire = acquire_of({{100, kHour}});
    acquire.quotas = std::make_shared<const Quotas>(
        Quotas{table("api", {{100, kHour}}), table("search", {{1'000'000, kHour}})});
    // A window to come: entries of ended windows expire by the clock of Redis.
    const std::int64_t window = number(kHour) + 1;
    const Instant begins = window_end(window - 1, kHour);
    const Instant ends = window_end(window, kHour);
    std::int64_t cost = 1;
    const auto recalled_after = [&](Instant leased, Instant refused) {
        redis_->run({"FLUSHALL"});
        set_clock(leased);
        context_.node = "n1";
        acquire.demand.cost = 1;
        acquire.lease = 2;
        EXPECT_EQ(decide(acquire).lease, 2);
        set_clock(refused);
        redis_->run({"HSET", keys_.quota("k", "api"), std::to_string(kHour.count()) + ".number",
                     std::to_string(window), std::to_string(kHour.count()) + ".count", "100"});
        context_.node = "n2";
        acquire.lease = 0;
        acquire.demand.cost = cost;
        const auto leases = decide(acquire).leased_elsewhere;
        EXPECT_NE(leases[1].at, Instant{});
        EXPECT_EQ(leases[1].recalled, Instant{}) << "this table has room";
        return leases[0].recalled;
    };
    EXPECT_EQ(recalled_after(begins, begins + 2s), begins + 2s);
    EXPECT_EQ(recalled_after(begins - 1ms, begins + 2s), Instant{}) << "of another window";
    EXPECT_EQ(recalled_after(begins, ends - 1s), Instant{}) << "the window resets at that time";
    EXPECT_EQ(recalled_after(begins, ends - 1001ms), ends - 1001ms);
    cost = 100;
    EXPECT_EQ(recalled_after(begins, begins + 2s), begins + 2s);
    cost = 101;
    EXPECT_EQ(recalled_after(begins, begins + 2s), Instant{}) << "the cost exceeds the limit";
}

}  // namespace
}  // namespace tollgate::redis
