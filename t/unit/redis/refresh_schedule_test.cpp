#include "module/redis/topology/refresh_schedule.hpp"

#include <gtest/gtest.h>

#include <random>

#include "t/unit/redis/times.hpp"

namespace tollgate::redis {
namespace {

using namespace std::chrono_literals;
using Time = RefreshSchedule::Time;
using Due = std::optional<Time>;

TEST(RefreshSchedule, BeginsAtOnce) {
    RefreshSchedule schedule(kStart);
    EXPECT_EQ(schedule.due(), Due(kStart));
    EXPECT_FALSE(schedule.begin(kStart - 1ms));
    EXPECT_FALSE(schedule.is_running());
    EXPECT_TRUE(schedule.begin(kStart));
    EXPECT_TRUE(schedule.is_running());
}

TEST(RefreshSchedule, RunsOneRefreshAtATime) {
    RefreshSchedule schedule(kStart);
    ASSERT_TRUE(schedule.begin(kStart));
    EXPECT_EQ(schedule.due(), std::nullopt);
    EXPECT_FALSE(schedule.begin(kStart + 1h));
    schedule.request(kStart + 1h);
    EXPECT_EQ(schedule.due(), std::nullopt);
    EXPECT_FALSE(schedule.begin(kStart + 2h));
}

TEST(RefreshSchedule, RunsEachMinute) {
    for (const auto& [random, interval] : {std::pair(1.0, 60s), std::pair(0.0, 54s)}) {
        RefreshSchedule schedule(kStart);
        ASSERT_TRUE(schedule.begin(kStart));
        schedule.succeeded(kStart + 3ms, random);
        EXPECT_EQ(schedule.due(), Due(kStart + 3ms + interval));
    }
}

TEST(RefreshSchedule, RunsOnRequestButNotWithinASecond) {
    RefreshSchedule schedule(kStart);
    ASSERT_TRUE(schedule.begin(kStart));
    schedule.succeeded(kStart + 3ms, 1.0);
    schedule.request(kStart + 10ms);
    EXPECT_EQ(schedule.due(), Due(kStart + 1s));
    schedule.request(kStart + 20ms);
    EXPECT_EQ(schedule.due(), Due(kStart + 1s));
    EXPECT_FALSE(schedule.begin(kStart + 999ms));
    ASSERT_TRUE(schedule.begin(kStart + 1s));
    schedule.succeeded(kStart + 1s + 3ms, 1.0);
    schedule.request(kStart + 30s);
    EXPECT_EQ(schedule.due(), Due(kStart + 30s));
}

TEST(RefreshSchedule, RestartsWhenThereAreNewServers) {
    RefreshSchedule schedule(kStart);
    Time now = kStart;
    for (int i = 0; i < 10; ++i) {
        now = *schedule.due();
        ASSERT_TRUE(schedule.begin(now));
        schedule.failed(now, 1.0);
    }
    EXPECT_EQ(schedule.due(), Due(now + 1min));
    schedule.restart(now + 3ms);
    EXPECT_EQ(schedule.due(), Due(now + 3ms)) << "not after the interval";
    ASSERT_TRUE(schedule.begin(now + 3ms));
    schedule.restart(now + 4ms);
    EXPECT_EQ(schedule.due(), std::nullopt) << "one refresh at a time";
    schedule.failed(now + 5ms, 1.0);
    EXPECT_EQ(schedule.due(), Due(now + 5ms + 2s)) << "the interval begins at its shortest";
}

TEST(RefreshSchedule, RepeatsARefreshThatMayHaveReadTheOldMap) {
    RefreshSchedule schedule(kStart);
    ASSERT_TRUE(schedule.begin(kStart));
    schedule.request(kStart + 1ms);
    schedule.succeeded(kStart + 3ms, 1.0);
    EXPECT_EQ(schedule.due(), Due(kStart + 1s));
    ASSERT_TRUE(schedule.begin(kStart + 1s));
    schedule.succeeded(kStart + 1s + 3ms, 1.0);
    EXPECT_EQ(schedule.due(), Due(kStart + 1s + 3ms + 60s)) << "the request is done";
}

TEST(RefreshSchedule, DoublesTheIntervalWhileRefreshesFail) {
    for (const double random : {0.0, 1.0}) {
        RefreshSchedule schedule(kStart);
        Time now = kStart;
        for (const auto longest : {2s, 4s, 8s, 16s, 32s, 60s, 60s}) {
            ASSERT_TRUE(schedule.begin(now));
            now += 100ms;
            schedule.failed(now, random);
            const auto interval = random == 1.0 ? std::chrono::milliseconds(longest) : longest / 2;
            EXPECT_EQ(schedule.due(), Due(now + interval));
            schedule.request(now);
            EXPECT_EQ(schedule.due(), Due(now + interval)) << "a request does not shorten it";
            now += interval;
        }
        ASSERT_TRUE(schedule.begin(now));
        schedule.succeeded(now, 1.0);
        schedule.request(now);
        now += 1s;
        ASSERT_TRUE(schedule.begin(now));
        schedule.failed(now, 1.0);
        EXPECT_EQ(schedule.due(), Due(now + 2s)) << "a success resets the interval";
    }
}

TEST(RefreshSchedule, IgnoresTheEndOfNoRefresh) {
    RefreshSchedule schedule(kStart);
    schedule.succeeded(kStart, 1.0);
    schedule.failed(kStart, 1.0);
    EXPECT_EQ(schedule.due(), Due(kStart));
}

TEST(RefreshSchedule, KeepsItsRulesInAnyOrderOfEvents) {
    std::minstd_rand random(7);
    std::uniform_real_distribution<double> jitter(0, 1);
    for (int round = 0; round < 300; ++round) {
        Time now = kStart;
        RefreshSchedule schedule(now);
        bool is_running = false;
        Due begun;
        Time ended = now;
        int refreshes = 0;
        for (int event = 0; event < 200; ++event) {
            now += std::chrono::milliseconds(random() % (random() % 20 == 0 ? 70'000 : 400));
            switch (random() % 5) {
                case 0:
                    schedule.request(now);
                    break;
                case 1:
                case 2:
                    if (schedule.begin(now)) {
                        ASSERT_FALSE(is_running) << "two refreshes at once";
                        ASSERT_TRUE(!begun || now - *begun >= 1s);
                        begun = now;
                        is_running = true;
                        ++refreshes;
                    }
                    break;
                case 3:
                    schedule.succeeded(now, jitter(random));
                    ended = std::exchange(is_running, false) ? now : ended;
                    break;
                default:
                    schedule.failed(now, jitter(random));
                    ended = std::exchange(is_running, false) ? now : ended;
                    break;
            }
            ASSERT_EQ(schedule.is_running(), is_running);
            ASSERT_EQ(schedule.due().has_value(), !is_running);
            if (schedule.due()) {
                ASSERT_LE(*schedule.due(), ended + 1min) << "a refresh follows within a minute";
            }
        }
        ASSERT_GT(refreshes, 3);
    }
}

}  // namespace
}  // namespace tollgate::redis
