// Calls with several ids, which share terms and have errors of their own.

#include <array>
#include <random>

#include "t/unit/engine/redis_model.hpp"
#include "t/unit/redis/acquire_script.hpp"

namespace tollgate::redis {
namespace {

TEST_F(AcquireScript, DecidesNothingAfterItsDeadline) {
    const Acquire acquire = acquire_of({{100, kHour}});
    context_.deadline = now() - 1ms;
    const auto elements = run(std::array{acquire});
    const auto results = read_acquired(elements.subspan(1), std::array{acquire});
    ASSERT_TRUE(results);
    EXPECT_TRUE(results->late);
    EXPECT_GT(results->now, context_.deadline);
    EXPECT_EQ(count(kHour), -1);
    context_.deadline = now() + 1h;
    EXPECT_EQ(decide(acquire).granted, 1);
}

TEST_F(AcquireScript, OneIdsErrorIsItsOwn) {
    std::vector<Acquire> acquires;
    std::array<std::string, 20> ids;
    for (int i = 0; i < 20; ++i) {
        Acquire acquire = acquire_of(
            Quotas{table("api", {{5, kHour}, {50, kDay}}), table("search", {{9, kHour}})});
        ids.at(i) = "k" + std::to_string(i);
        acquire.id = ids.at(i);
        acquire.lease = i % 3;
        acquire.count = i;
        if (i % 4 == 1) {
            acquire.demand.ban =
                BanPolicy{.after = 100, .within = 1min, .first = 1min, .up_to = 1h};
        }
        if (i % 5 == 1) {
            acquire.adjustments = {{number(kHour), 1}, {number(kDay), 0}, {number(kHour), 2}};
        }
        acquires.push_back(acquire);
    }
    redis_->run({"SET", keys_.quota("k7", "search"), "text"});
    redis_->run({"SET", keys_.ban("k9"), "text"});
    const auto results = decide(acquires);
    for (int i = 0; i < 20; ++i) {
        if (i == 7 || i == 9) {
            ASSERT_TRUE(std::holds_alternative<std::string_view>(results[i])) << i;
            EXPECT_TRUE(std::get<std::string_view>(results[i]).starts_with("WRONGTYPE"));
            EXPECT_EQ(redis_->integer({"EXISTS", keys_.quota(acquires[i].id, "api")}), 0);
            continue;
        }
        ASSERT_TRUE(std::holds_alternative<Acquired>(results[i])) << i;
        const auto& acquired = std::get<Acquired>(results[i]);
        const int room = i % 5 == 1 ? 4 : 5;
        EXPECT_EQ(acquired.granted, std::min(i, room)) << i;
        EXPECT_EQ(acquired.limited, i - acquired.granted) << i;
        EXPECT_EQ(acquired.windows[1].count, acquired.granted) << i;
        EXPECT_EQ(acquired.strikes, i % 4 == 1 ? acquired.limited : 0) << i;
    }
}

/// Most ids of a call have the most frequent terms: two fixed windows. They share arguments.
TEST_F(AcquireScript, IdsOfTheMostFrequentTermsCountAsTheModel) {
    std::mt19937 random(1);
    const auto any = [&](int most) { return std::uniform_int_distribution<>(0, most)(random); };
    int leases = 0;
    int bans = 0;
    const auto expect_alike = [](const Acquired& acquired, const Acquired& expected) {
        EXPECT_EQ(acquired.granted, expected.granted);
        EXPECT_EQ(acquired.limited, expected.limited);
        EXPECT_EQ(acquired.lease, expected.lease);
        EXPECT_EQ(acquired.windows, expected.windows);
        EXPECT_EQ(acquired.strikes, expected.strikes);
        EXPECT_EQ(acquired.banned_until == Instant(), expected.banned_until == Instant());
    };
    const auto few = acquire_of({{5, kHour}, {8, kDay}}).quotas;
    const auto many = acquire_of({{60, kHour}, {80, kDay}}).quotas;
    for (int round = 0; round < 30; ++round) {
        const bool is_small = round % 2 == 0;
        auto quotas = is_small ? few : many;
        if (round % 4 > 1) {
            Quotas with_history = *quotas;
            with_history.front().history = std::chrono::days(1);
            quotas = std::make_shared<const Quotas>(with_history);
        }
        RedisModel model;
        model.node = "n1";
        std::array<std::string, 30> ids;
        std::array<bool, 30> was_of_n2{};
        std::vector<Acquire> acquires;
        for (int i = 0; i < 30; ++i) {
            const std::string& id = ids.at(i) = std::to_string(round) + "-" + std::to_string(i);
            Acquire& acquire = acquires.emplace_back();
            acquire.id = id;
            acquire.quotas = quotas;
            acquire.count = any(9) < 7 ? 1 : any(3);
            acquire.demand.cost = round % 5 == 4 ? 2 : 1;
            if (round % 3 == 2) {
                acquire.demand.ban = BanPolicy{2, kHour, kHour, kHour};
            }
            acquire.lease = any(2) == 0 ? 1 + any(3) : 0;
            for (const Rate& rate : any(9) == 0 ? std::vector<Rate>() : quotas->front().rates) {
                const std::int64_t which = number(rate.period.length()) + 1 - std::min(any(9), 3);
                const std::int64_t units = any(is_small ? 8 : 80);
                const auto begin = std::to_string(rate.period.length().count());
                redis_->run({"HSET", keys_.quota(id, "api"), begin + ".number",
                             std::to_string(which), begin + ".count", std::to_string(units)});
                model.count(id, quotas->front(), rate) = {which, units, 0};
            }
            was_of_n2.at(i) = any(4) == 0;
            if (was_of_n2.at(i) || any(3) > 0) {
                redis_->run({"HSET", keys_.quota(id, "api"), lease_field::kNode,
                             was_of_n2.at(i) ? "n2" : "n1", lease_field::kGrant, "77"});
            }
        }
        context_.call = 9;
        const auto results = decide(acquires);
        for (int i = 0; i < 30; ++i) {
            Acquired expected = model.run(acquires[i], start_);
            for (WindowCount& window : expected.windows) {
                window.previous = 0;  // the script has it of sliding windows only
            }
            ASSERT_TRUE(std::holds_alternative<Acquired>(results[i]));
            const auto& acquired = std::get<Acquired>(results[i]);
            expect_alike(acquired, expected);
            Acquire reads = acquires[i];
            reads.count = reads.lease = 0;
            EXPECT_EQ(decide(reads).windows, expected.windows) << "as stored";
            const std::string name = keys_.quota(acquires[i].id, "api");
            const auto lease = [&](std::string_view field) {
                return redis_->text({"HGET", name, field});
            };
            if (acquired.lease > 0) {
                const std::int64_t added = acquired.units(acquires[i].demand.cost, 0);
                EXPECT_EQ(lease(lease_field::kNode), "n1");
                const bool are_current = acquired.windows[0].number == number(kHour) &&
                                         acquired.windows[1].number == number(kDay);
                const std::string grant = are_current ? ":9:" + std::to_string(added) : "";
                EXPECT_EQ(lease(lease_field::kGrant).substr(13), grant);
                EXPECT_EQ(lease(lease_field::kOfOther), was_of_n2[i] ? "77" : "");
                ++leases;
            } else {
                EXPECT_LE(lease(lease_field::kGrant).size(), 2) << "77, or nothing";
            }
        }
        // Some ids have a strike or a ban now.
        const auto again = decide(acquires);
        for (int i = 0; i < 30; ++i) {
            Acquired expected = model.run(acquires[i], start_);
            for (WindowCount& window : expected.windows) {
                window.previous = 0;
            }
            const auto& acquired = std::get<Acquired>(again[i]);
            expect_alike(acquired, expected);
            bans += acquired.banned_until != Instant() ? 1 : 0;
        }
    }
    EXPECT_GT(bans, 20);
    EXPECT_GT(leases, 50);
}

TEST_F(AcquireScript, TermsMayChangeWithinACall) {
    const auto frequent = acquire_of({{5, kHour}, {8, kDay}}).quotas;
    const auto one_window = acquire_of({{3, kHour}}).quotas;
    auto sliding = std::make_shared<Quotas>(*frequent);
    sliding->front().sliding = true;
    auto month = std::make_shared<Quotas>(*acquire_of({{5, kHour}}).quotas);
    month->front().rates.push_back({8, Period::month()});
    auto billing = std::make_shared<Quotas>(*month);
    billing->front().rates.back().period = Period::month({.day = 15});
    // Terms with a month are read again after those of other ids.
    const std::array<std::shared_ptr<const Quotas>, 13> of_ids{
        frequent, frequent, one_window, frequent, sliding, sliding, month,
        frequent, month,    billing,    month,    billing, frequent};
    std::vector<std::string> ids;
    std::vector<Acquire> acquires;
    for (std::size_t i = 0; i < of_ids.size(); ++i) {
        ids.push_back("terms-" + std::to_string(i));
    }
    for (std::size_t i = 0; i < of_ids.size(); ++i) {
        Acquire& acquire = acquires.emplace_back();
        acquire.id = ids[i];
        acquire.quotas = of_ids[i];
        acquire.count = i == 3 ? 2 : 1;
        if (i == 7) {
            acquire.demand.ban =
                BanPolicy{.after = 2, .within = 1min, .first = 1min, .up_to = 1min};
        }
    }
    RedisModel model;
    for (int round = 0; round < 7; ++round) {
        const auto results = decide(acquires);
        for (std::size_t i = 0; i < acquires.size(); ++i) {
            const Acquired expected = model.run(acquires[i], start_);
            ASSERT_TRUE(std::holds_alternative<Acquired>(results[i]));
            const auto& acquired = std::get<Acquired>(results[i]);
            EXPECT_EQ(acquired.granted, expected.granted) << i << " in round " << round;
            EXPECT_EQ(acquired.limited, expected.limited) << i << " in round " << round;
            for (std::size_t w = 0; w < expected.windows.size(); ++w) {
                EXPECT_EQ(acquired.windows[w].number, expected.windows[w].number) << i;
                EXPECT_EQ(acquired.windows[w].count, expected.windows[w].count) << i;
            }
        }
    }
}

/// Another program wrote the number of the window.
TEST_F(AcquireScript, ANumberIsWrittenAsItIsByGateways) {
    const auto quotas = acquire_of({{5, kHour}, {8, kDay}}).quotas;
    const std::string hourly = std::to_string(kHour.count());
    const std::string daily = std::to_string(kDay.count());
    const std::string hour = std::to_string(number(kHour));
    const std::string day = std::to_string(number(kDay));
    const std::string before = std::to_string(number(kHour) - 1);
    redis_->run({"HSET", keys_.quota("foreign", "api"), hourly + ".number", hour + ".0",
                 hourly + ".count", "1", daily + ".number", day, daily + ".count", "1"});
    redis_->run({"HSET", keys_.quota("own", "api"), hourly + ".number", before, hourly + ".count",
                 "1", daily + ".number", day, daily + ".count", "1"});
    std::vector<Acquire> acquires(2);
    acquires[0].id = "foreign";
    acquires[1].id = "own";
    acquires[0].quotas = acquires[1].quotas = quotas;
    for (const auto& result : decide(acquires)) {
        EXPECT_EQ(std::get<Acquired>(result).granted, 1);
    }
    EXPECT_EQ(redis_->text({"HGET", keys_.quota("own", "api"), hourly + ".number"}), hour);
}

TEST_F(AcquireScript, AnErrorOfAnIdThatSharesArgumentsIsItsOwn) {
    const Acquire acquire = acquire_of({{10, kHour}, {20, kDay}});
    std::array<Acquire, 3> acquires{acquire, acquire, acquire};
    acquires[1].id = "wrong";
    redis_->run({"SET", keys_.quota("wrong", "api"), "text"});
    const auto results = decide({acquires.begin(), acquires.end()});
    EXPECT_EQ(std::get<Acquired>(results[0]).windows[0].count, 1);
    EXPECT_TRUE(std::holds_alternative<std::string_view>(results[1]));
    EXPECT_EQ(std::get<Acquired>(results[2]).windows[0].count, 2);
}

TEST_F(AcquireScript, MemoryThatRanOutIsEachIdsError) {
    put(kHour, 0, 1);
    put(kDay, 0, 1);
    redis_->run({"CONFIG", "SET", "maxmemory", "1"});
    Acquire acquire = acquire_of({{5, kHour}});
    Acquire looks = acquire;
    looks.demand.cost = 0;
    const Acquire known = acquire_of({{5, kHour}, {5, kDay}});
    const auto results = decide({acquire, looks, acquire, known, known});
    redis_->run({"CONFIG", "SET", "maxmemory", "0"});
    EXPECT_TRUE(std::holds_alternative<Acquired>(results[1]));
    for (const int i : {0, 2, 3, 4}) {
        ASSERT_TRUE(std::holds_alternative<std::string_view>(results[i]));
        EXPECT_TRUE(std::get<std::string_view>(results[i]).starts_with("OOM"));
    }
}

TEST_F(AcquireScript, CountsTheSameIdTwiceInOneCall) {
    Acquire acquire = acquire_of({{3, kHour}});
    acquire.count = 2;
    const auto results = decide({acquire, acquire});
    EXPECT_EQ(std::get<Acquired>(results[0]).granted, 2);
    EXPECT_EQ(std::get<Acquired>(results[1]).granted, 1);
}

}  // namespace
}  // namespace tollgate::redis
