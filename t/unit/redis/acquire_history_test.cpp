// Days that have ended move to the history of their id.

#include <map>
#include <random>

#include "t/unit/engine/redis_model.hpp"
#include "t/unit/redis/acquire_script.hpp"

namespace tollgate::redis {
namespace {

class AcquireScriptHistory : public AcquireScript {
  protected:
    static constexpr std::chrono::days kKept{90};

    void SetUp() override {
        AcquireScript::SetUp();
        // Keys that expire must not have expired by the clock of Redis.
        day_ = window_number(start_, 24h) + 3;
        set_clock(at(day_, 24h - 10s));
    }

    static Instant at(std::int64_t day, std::chrono::milliseconds time = {}) {
        return window_end(day - 1, 24h) + time;
    }
    static TableQuota counted(std::string name, std::vector<Rate> rates, bool sliding = false) {
        TableQuota quota = table(std::move(name), std::move(rates), sliding);
        quota.history = kKept;
        return quota;
    }
    static Acquire acquire_of_day(bool sliding = false) {
        return acquire_of(Quotas{counted("api", {{1000, 60s}, {kNoLimit, 24h}}, sliding)});
    }
    static Acquire adjusting(std::vector<Adjustment> adjustments, std::uint64_t number = 0) {
        Acquire acquire = acquire_of_day();
        acquire.count = 0;
        acquire.adjustments = {{}, adjustments.front()};
        acquire.report_numbers = {number};
        return acquire;
    }
    /// The fields of the history.
    std::map<std::string, std::int64_t> history() {
        const auto reply = redis_->run({"HGETALL", keys_.history("k")});
        const auto elements = elements_of(*reply);
        std::map<std::string, std::int64_t> fields;
        for (std::size_t i = 0; i + 1 < elements.size(); i += 2) {
            fields[std::string(text_of(*elements[i]))] =
                std::stoll(std::string(text_of(*elements[i + 1])));
        }
        return fields;
    }
    /// When the id leaves the list of subjects.
    Instant listed_until() {
        return Instant(std::chrono::milliseconds(
            std::stoll(redis_->text({"ZSCORE", keys_.subject_ends(), "k"}))));
    }
    /// The units of days of the table `api`, from day_ on.
    std::vector<std::int64_t> days() {
        std::vector<std::int64_t> days;
        for (const auto& [field, units] : history()) {
            const auto index = std::stoll(field.substr(field.find(':') + 1)) - day_;
            days.resize(std::max<std::size_t>(days.size(), static_cast<std::size_t>(index) + 1));
            days[static_cast<std::size_t>(index)] = units;
        }
        return days;
    }
    using Days = std::vector<std::int64_t>;

    std::int64_t day_ = 0;  ///< of the clock at first
};

TEST_F(AcquireScriptHistory, MovesADayThatHasEnded) {
    Acquire acquire = acquire_of_day();
    acquire.count = 3;
    decide(acquire);
    EXPECT_EQ(redis_->integer({"EXISTS", keys_.history("k")}), 0);
    EXPECT_EQ(expiry(keys_.quota("k", "api")), at(day_ + 1 + kKept.count()))
        << "the last day of an id that does not return";
    set_clock(at(day_ + 1));
    EXPECT_EQ(decide(acquire).windows[1], (WindowCount{day_ + 1, 3, 0}));
    EXPECT_EQ(days(), (Days{3}));
    EXPECT_EQ(expiry(keys_.quota("k", "api")), at(day_ + 2 + kKept.count()));
    EXPECT_EQ(expiry(keys_.history("k")), at(day_ + 1 + kKept.count()));
    const auto before = dirty();
    decide(acquire);
    EXPECT_EQ(dirty() - before, 2) << "the two counts";
    set_clock(at(day_ + 5));
    decide(acquire);
    EXPECT_EQ(days(), (Days{3, 6}));
    EXPECT_EQ(expiry(keys_.history("k")), at(day_ + 2 + kKept.count()));
}

TEST_F(AcquireScriptHistory, ListsAnIdWithoutAKeyUntilItsHistoryEnds) {
    redis_->run({"ZADD", keys_.subjects(), "0", "ended", "0", "other"});
    redis_->run({"ZADD", keys_.subject_ends(), "1", "ended", "99999999999999", "other"});
    decide(acquire_of_day());
    EXPECT_EQ(redis_->text({"ZSCORE", keys_.subjects(), "k"}), "0");
    EXPECT_EQ(redis_->integer({"ZCARD", keys_.subjects()}), 2) << "k and other";
    EXPECT_EQ(redis_->integer({"ZCARD", keys_.subject_ends()}), 2);
    EXPECT_EQ(listed_until(), at(day_ + 1 + kKept.count()));
    EXPECT_EQ(expiry(keys_.subjects()), at(day_ + 1 + kKept.count()));
    EXPECT_EQ(expiry(keys_.subject_ends()), at(day_ + 1 + kKept.count()));
    set_clock(at(day_ + 3));
    decide(acquire_of_day());
    EXPECT_EQ(listed_until(), at(day_ + 4 + kKept.count()));
    redis_->run({"ZADD", keys_.subject_ends(), "99999999999999", "k"});
    set_clock(at(day_ + 4));
    decide(acquire_of_day());
    EXPECT_EQ(listed_until().time_since_epoch().count(), 99999999999999) << "of another table";
}

TEST_F(AcquireScriptHistory, ListsNoIdWithAKeyAndNoneInAGroup) {
    redis_->run({"SADD", keys_.id("k"), "digest"});
    decide(acquire_of_day());
    redis_->run({"DEL", keys_.id("k")});
    Acquire grouped = acquire_of_day();
    grouped.group = "acme";
    decide(grouped);
    EXPECT_EQ(redis_->integer({"EXISTS", keys_.subjects()}), 0);
    EXPECT_EQ(redis_->integer({"EXISTS", keys_.quota({"k", "acme"}, "api")}), 1);
}

TEST_F(AcquireScriptHistory, MovesNothingIfTheRequestIsRefused) {
    const auto acquire_up_to = [](std::int64_t limit) {
        return acquire_of(Quotas{counted("api", {{limit, 60s}, {kNoLimit, 24h}})});
    };
    decide(acquire_up_to(5));
    set_clock(at(day_ + 1));
    const auto before = dirty();
    EXPECT_EQ(decide(acquire_up_to(0)).granted, 0);
    EXPECT_EQ(dirty(), before);
    EXPECT_EQ(count(24h), 1) << "the day is in the quota still";
    decide(acquire_up_to(5));
    EXPECT_EQ(days(), (Days{1}));
}

TEST_F(AcquireScriptHistory, DropsDaysThatItNoLongerKeeps) {
    const auto name = [&](const std::string& table, std::int64_t day) {
        return table + ":" + std::to_string(day);
    };
    const auto today = day_ + 1;
    for (const auto& field :
         {name("api", today - 400), name("api", today - 91), name("api", today - 90),
          name("ap", today - 400), name("api2", today - 400), std::string("api:x")}) {
        redis_->run({"HSET", keys_.history("k"), field, "7"});
    }
    decide(acquire_of_day());
    set_clock(at(today));
    decide(acquire_of_day());
    EXPECT_EQ(history(), (std::map<std::string, std::int64_t>{{name("api", today - 90), 7},
                                                              {name("api", day_), 1},
                                                              {name("ap", today - 400), 7},
                                                              {name("api2", today - 400), 7},
                                                              {"api:x", 7}}));
}

TEST_F(AcquireScriptHistory, AdjustsADayThatHasEnded) {
    Acquire acquire = acquire_of_day();
    acquire.count = 10;
    decide(acquire);
    set_clock(at(day_ + 1, 5s));
    // The day is still in the quota.
    EXPECT_EQ(decide(adjusting({{day_, -4}})).windows[1], (WindowCount{day_ + 1, 0, 0}));
    EXPECT_EQ(days(), (Days{6}));
    decide(adjusting({{day_, -1}}));
    decide(adjusting({{day_ + 1, 8, 3}}));
    EXPECT_EQ(days(), (Days{8}));
    EXPECT_EQ(count(24h), 8);
    set_clock(at(day_ + 3));
    decide(adjusting({{day_ + 1, 1, 1}}));
    EXPECT_EQ(days(), (Days{9, 9}));
    decide(adjusting({{day_ + 3 - kKept.count() - 1, 5}}));
    EXPECT_EQ(days(), (Days{9, 9})) << "a day that is not kept";
}

TEST_F(AcquireScriptHistory, AppliesAReportOfAnEndedDayOnce) {
    decide(acquire_of_day());
    set_clock(at(day_ + 1));
    decide(adjusting({{day_, 5}}, 7));
    decide(adjusting({{day_, 5}}, 7));
    EXPECT_EQ(days(), (Days{6}));
    EXPECT_GE(expiry(report_key(acquire_of_day())), at(day_ + 1) + 8 * 24h)
        << "longer than a node sends it";
    decide(adjusting({{day_, 2}}, 8));
    EXPECT_EQ(days(), (Days{8}));
}

TEST_F(AcquireScriptHistory, KeepsADayToComeAfterTheClockWentBack) {
    set_clock(at(day_ + 1));
    decide(acquire_of_day());
    set_clock(at(day_, 23h));
    EXPECT_EQ(decide(acquire_of_day()).windows[1], (WindowCount{day_ + 1, 2, 0}));
    decide(adjusting({{day_, 4}}));
    EXPECT_EQ(days(), (Days{4}));
    set_clock(at(day_ + 2));
    decide(acquire_of_day());
    EXPECT_EQ(days(), (Days{4, 2}));
}

TEST_F(AcquireScriptHistory, CountsADayThatSlides) {
    Acquire acquire = acquire_of_day(true);
    acquire.count = 10;
    decide(acquire);
    set_clock(at(day_ + 1));
    EXPECT_EQ(decide(acquire).windows[1], (WindowCount{day_ + 1, 10, 10}));
    acquire.count = 0;
    acquire.adjustments = {{}, {day_, -4}};
    EXPECT_EQ(decide(acquire).windows[1], (WindowCount{day_ + 1, 10, 6}));
    EXPECT_EQ(days(), (Days{6}));
}

TEST_F(AcquireScriptHistory, IsThatOfEachTable) {
    TableQuota week = counted("b.c", {{kNoLimit, 24h}});
    week.history = std::chrono::days(7);
    Acquire acquire =
        acquire_of(Quotas{table("a", {{100, 24h}}), counted("api", {{100, 24h}}), week});
    acquire.demand.ban = BanPolicy{5, 1min, 1min, 1h};
    acquire.count = 2;
    acquire.lease = 3;
    const auto lease = decide(acquire).lease;
    EXPECT_EQ(lease, 3);
    set_clock(at(day_ + 1));
    acquire.lease = 0;
    decide(acquire);
    const auto day = std::to_string(day_);
    EXPECT_EQ(history(),
              (std::map<std::string, std::int64_t>{{"api:" + day, 5}, {"b.c:" + day, 5}}));
    EXPECT_EQ(expiry(keys_.history("k")), at(day_ + 1 + kKept.count()));
    EXPECT_EQ(expiry(keys_.quota("k", "a")), at(day_ + 2));
    EXPECT_EQ(expiry(keys_.quota("k", "b.c")), at(day_ + 2 + 7));
    EXPECT_EQ(ban("strikes"), "");
}

TEST_F(AcquireScriptHistory, ExpiresWithALongerWindow) {
    const auto month = window_number(*clock_, Period::month());
    TableQuota quota = counted("api", {{kNoLimit, 24h}, {100, Period::month()}});
    quota.history = std::chrono::days(1);
    decide(acquire_of(Quotas{quota}));
    EXPECT_EQ(expiry(keys_.quota("k", "api")),
              std::max(window_end(month, Period::month()), at(day_ + 2)));
}

TEST_F(AcquireScriptHistory, OfAnotherTypeIsAnErrorBeforeAnythingIsCounted) {
    decide(acquire_of_day());
    redis_->run({"SET", keys_.history("k"), "text"});
    set_clock(at(day_ + 1));
    const auto results = decide(std::vector{acquire_of_day()});
    ASSERT_TRUE(std::holds_alternative<std::string_view>(results[0]));
    EXPECT_TRUE(std::get<std::string_view>(results[0]).starts_with("WRONGTYPE"));
    EXPECT_EQ(field("86400.number"), std::to_string(day_));
    redis_->run({"DEL", keys_.history("k")});
    decide(acquire_of_day());
    EXPECT_EQ(days(), (Days{1}));
}

TEST_F(AcquireScriptHistory, CountsAsTheModelOfTheSimulation) {
    std::mt19937 random(1);
    const auto number = [&](std::int64_t least, std::int64_t most) {
        return std::uniform_int_distribution<std::int64_t>(least, most)(random);
    };
    for (const bool sliding : {false, true}) {
        redis_->run({"FLUSHALL"});
        RedisModel model;
        Instant time = at(day_);
        std::uint64_t report = 0;
        const Quotas quotas{counted("api", {{100, 1h}, {300, 24h}}, sliding),
                            counted("b", {{kNoLimit, 24h}}, sliding)};
        for (int i = 0; i < 400; ++i) {
            time += std::chrono::minutes(number(0, number(0, 9) == 0 ? 4000 : 60));
            set_clock(time);
            Acquire acquire = acquire_of(quotas);
            acquire.count = number(0, 20);
            acquire.lease = number(0, 5);
            acquire.demand.cost = number(0, 3);
            if (number(0, 2) == 0) {
                for (const TableQuota& quota : quotas) {
                    for (const Rate& rate : quota.rates) {
                        const auto window = window_number(time, rate.period) - number(0, 3);
                        acquire.adjustments.push_back({window, number(-3, 9), number(-3, 9)});
                    }
                    acquire.report_numbers.push_back(number(0, 1) == 0 ? 0 : report + number(0, 1));
                    report = std::max(report, acquire.report_numbers.back());
                }
            }
            Acquired expected = model.run(acquire, time);
            for (WindowCount& window : expected.windows) {
                window.previous = sliding ? window.previous : 0;
            }
            const Acquired acquired = decide(acquire);
            ASSERT_EQ(acquired.granted, expected.granted) << i;
            ASSERT_EQ(acquired.lease, expected.lease) << i;
            ASSERT_EQ(acquired.windows, expected.windows) << i;
        }
        std::map<std::string, std::int64_t> all;
        for (const TableQuota& quota : quotas) {
            for (const auto& [day, units] : model.history("k", quota)) {
                all[quota.table + ":" + std::to_string(day)] = units;
            }
        }
        auto stored = history();
        for (const TableQuota& quota : quotas) {
            stored[quota.table + ":" + field("86400.number", quota.table)] +=
                count(24h, quota.table);
        }
        std::erase_if(stored, [](const auto& one) { return one.second == 0; });
        EXPECT_EQ(stored, all);
        EXPECT_GT(all.size(), 20);
    }
}

}  // namespace
}  // namespace tollgate::redis
