// Refusals are strikes, and strikes cause bans.

#include "t/unit/redis/acquire_script.hpp"

namespace tollgate::redis {
namespace {

class AcquireScriptBans : public AcquireScript {
  protected:
    Acquire acquire() {
        Acquire acquire = acquire_of({{2, kHour}});
        acquire.demand.ban = BanPolicy{.after = 3, .within = 1min, .first = 10min, .up_to = 24h};
        return acquire;
    }
    /// The ban has ended this time ago.
    void end_ban(std::chrono::milliseconds ago = 1ms) {
        const auto ended = (now() - ago).time_since_epoch().count();
        redis_->run({"HSET", keys_.ban("k"), "until", std::to_string(ended)});
    }
};

TEST_F(AcquireScriptBans, TheRefusalThatReachesTheStrikesIsBannedItself) {
    Acquire batch = acquire();
    batch.count = 7;
    const auto acquired = decide(batch);
    EXPECT_EQ(acquired.granted, 2);
    EXPECT_EQ(acquired.limited, 2);
    EXPECT_EQ(acquired.banned_until, acquired.now + 10min);
    EXPECT_EQ(acquired.strikes, 0);
    EXPECT_EQ(ban("level"), "1");
    EXPECT_EQ(ban("until"), std::to_string(acquired.banned_until.time_since_epoch().count()));
    EXPECT_EQ(expiry(keys_.ban("k")), acquired.banned_until + 24h);
    const auto before = dirty();
    Acquire later = acquire();
    later.demand.cost = 0;
    later.strikes = 9;
    const auto banned = decide(later);
    EXPECT_EQ(banned.granted, 0);
    EXPECT_EQ(banned.limited, 0);
    EXPECT_EQ(banned.banned_until, acquired.banned_until);
    EXPECT_EQ(dirty(), before);
}

TEST_F(AcquireScriptBans, StrikesOfAnOutageCountFromTheirTime) {
    Acquire report = acquire();
    report.count = 0;
    report.strikes = 2;
    report.struck_since = -40s;
    auto acquired = decide(report);
    EXPECT_EQ(acquired.strikes, 2);
    EXPECT_EQ(expiry(keys_.ban("k")), acquired.now + 20s);
    report.struck_since = -5s;
    report.strikes = 0;
    acquired = decide(report);
    EXPECT_LE(expiry(keys_.ban("k")) - acquired.now, 20s) << "the first strike counts";
    redis_->run({"DEL", keys_.ban("k")});
    report.strikes = 9;
    report.struck_since = -59s;
    EXPECT_GT(decide(report).banned_until, acquired.now);
}

TEST_F(AcquireScriptBans, RefusalsBelowThatAreStrikes) {
    Acquire batch = acquire();
    batch.count = 3;
    auto acquired = decide(batch);
    EXPECT_EQ(acquired.limited, 1);
    EXPECT_EQ(acquired.strikes, 1);
    EXPECT_EQ(acquired.banned_until, Instant{});
    EXPECT_EQ(expiry(keys_.ban("k")), acquired.now + 1min);
    batch.count = 1;
    batch.demand.refusals_strike = false;
    acquired = decide(batch);
    EXPECT_EQ(acquired.limited, 1);
    EXPECT_EQ(acquired.strikes, 1);
    batch.count = 0;
    batch.strikes = 1;
    EXPECT_EQ(decide(batch).strikes, 2);
}

TEST_F(AcquireScriptBans, OnlyRefusalsOfTablesByIdAreStrikes) {
    Acquire batch = acquire();
    Quotas quotas(2, batch.quotas->front());
    quotas[0].rates.front().requests = 4;
    quotas[1].by = CountedBy::kGroup;
    quotas[1].value = ValueDigest::of_group();
    batch.quotas = std::make_shared<const Quotas>(quotas);
    batch.group = "g";
    batch.count = 9;
    auto acquired = decide(batch);
    EXPECT_EQ(acquired.granted, 2) << "of the group";
    EXPECT_EQ(acquired.limited, 7);
    EXPECT_EQ(acquired.strikes, 0);
    batch.demand.ban->all_strike = true;
    batch.count = 1;
    EXPECT_EQ(decide(batch).strikes, 1);
    batch.demand.ban->all_strike = false;
    batch.demand.cost = 3;
    EXPECT_EQ(decide(batch).strikes, 2) << "both tables refuse it";
}

TEST_F(AcquireScriptBans, ARefusedCostOfZeroThatIsSettledIsAStrike) {
    Acquire batch = acquire();
    batch.count = 2;
    EXPECT_EQ(decide(batch).granted, 2);
    batch.count = 1;
    batch.demand.cost = {0, true};
    const auto acquired = decide(batch);
    EXPECT_EQ(acquired.granted, 0);
    EXPECT_EQ(acquired.strikes, 1);
}

TEST_F(AcquireScriptBans, PendingStrikesGoFirst) {
    Acquire batch = acquire();
    batch.count = 4;
    batch.strikes = 3;
    const auto acquired = decide(batch);
    EXPECT_EQ(acquired.granted, 2);
    EXPECT_EQ(acquired.limited, 0);
    EXPECT_EQ(acquired.banned_until, acquired.now + 10min);
}

TEST_F(AcquireScriptBans, TheLastPendingStrikeLeavesOneRefusal) {
    Acquire batch = acquire();
    batch.count = 4;
    batch.strikes = 2;
    const auto acquired = decide(batch);
    EXPECT_EQ(acquired.granted, 2);
    EXPECT_EQ(acquired.limited, 0);
    EXPECT_GT(acquired.banned_until, acquired.now);
    redis_->run({"FLUSHALL"});
    batch.strikes = 1;
    EXPECT_EQ(decide(batch).limited, 1);
    redis_->run({"FLUSHALL"});
    batch.strikes = 3;
    batch.demand.refusals_strike = false;
    EXPECT_EQ(decide(batch).limited, 0);
}

TEST_F(AcquireScriptBans, StrikesCountWithinTheirTime) {
    const auto stale = (now() - 1min).time_since_epoch().count();
    redis_->run({"HSET", keys_.ban("k"), "strikes", "2", "since", std::to_string(stale)});
    Acquire batch = acquire();
    EXPECT_EQ(decide(batch).strikes, 0);
    batch.count = 2;
    EXPECT_EQ(decide(batch).strikes, 1);
    EXPECT_EQ(ban("strikes"), "1");
    EXPECT_GT(std::stoll(ban("since")), stale);
}

TEST_F(AcquireScriptBans, EachBanDoublesUpToTheLongest) {
    Acquire batch = acquire();
    batch.count = 5;
    for (const auto length : {10min, 20min, 40min}) {
        const auto acquired = decide(batch);
        EXPECT_EQ(acquired.banned_until - acquired.now, length);
        end_ban();
    }
    redis_->run({"HSET", keys_.ban("k"), "level", "2000"});
    const auto acquired = decide(batch);
    EXPECT_EQ(acquired.banned_until - acquired.now, 24h);
}

TEST_F(AcquireScriptBans, TheLevelIsForgottenAfterTheLongestBan) {
    Acquire batch = acquire();
    batch.count = 5;
    decide(batch);
    end_ban(24h);
    const auto acquired = decide(batch);
    EXPECT_EQ(acquired.banned_until - acquired.now, 10min);
}

TEST_F(AcquireScriptBans, AnotherPolicyDoesNotShortenTheEntry) {
    Acquire batch = acquire();
    batch.count = 5;
    decide(batch);
    const auto expires = expiry(keys_.ban("k"));
    end_ban();
    batch.demand.ban = BanPolicy{.after = 3, .within = 1s, .first = 1s, .up_to = 1s};
    batch.count = 1;
    decide(batch);
    EXPECT_EQ(ban("strikes"), "1");
    EXPECT_EQ(expiry(keys_.ban("k")), expires);
}

TEST_F(AcquireScriptBans, StrikesOfAnOutageMayBeOlderThanThoseInRedis) {
    Acquire batch = acquire();
    batch.count = 2;
    decide(batch);
    batch.count = 1;
    batch.strikes = 1;
    batch.struck_since = -40s;
    const auto acquired = decide(batch);
    EXPECT_EQ(std::stoll(ban("since")), (acquired.now - 40s).time_since_epoch().count());
}

TEST_F(AcquireScriptBans, AKeyOfAnotherTypeIsAnErrorBeforeAnythingIsCounted) {
    redis_->run({"SET", keys_.ban("k"), "text"});
    const auto results = decide(std::vector{acquire()});
    ASSERT_TRUE(std::holds_alternative<std::string_view>(results[0]));
    EXPECT_EQ(count(kHour), -1);
}

}  // namespace
}  // namespace tollgate::redis
