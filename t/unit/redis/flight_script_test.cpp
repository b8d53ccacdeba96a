// The script that shares the places of requests in flight among nodes.

#include "module/redis/protocol/flight_call.hpp"
#include "t/unit/redis/acquire_script.hpp"

namespace tollgate::redis {
namespace {

class FlightScript : public AcquireScript {
  protected:
    static constexpr std::int64_t kLimit = 6;

    /// The places of a node after its call; `version`: of its places, of which it returns the rest.
    PlacesGiven call(const std::string& node, std::int64_t places, std::int64_t version = 0,
                     std::chrono::milliseconds lifetime = 10s, std::int64_t running = 0) {
        const Call one = flight_call(keys_, {.id = "k",
                                             .table = "api",
                                             .node = node,
                                             .limit = kLimit,
                                             .places = places,
                                             .lifetime = lifetime,
                                             .version = version,
                                             .running = running,
                                             .deadline = deadline_});
        std::string text = one.script->text;
        if (clock_) {
            constexpr std::string_view kTime = "redis.call('TIME')";
            text.replace(text.find(kTime), kTime.size(),
                         "redis.call('MGET', 'seconds', 'microseconds')");
        }
        Words words{"EVAL", text};
        words.add(one.keys.size());
        words.add(one.keys);
        words.add("token");
        words.add(one.arguments);
        reply_ = redis_->run(words);
        const auto elements = elements_of(*reply_);
        const auto given = elements.empty() ? std::nullopt : read_places(elements.subspan(1));
        EXPECT_EQ(given.has_value(), !is_late_) << text_of(*reply_);
        return given.value_or(PlacesGiven{});
    }
    long long calls_of(const std::string& command) {
        const std::string info = redis_->text({"INFO", "commandstats"});
        const auto at = info.find("cmdstat_" + command + ":calls=");
        return at == std::string::npos ? 0 : std::stoll(info.substr(info.find('=', at) + 1));
    }

    Instant deadline_{};
    bool is_late_ = false;
};

/// A failover may have lost the places of requests that run.
TEST_F(FlightScript, CountsRequestsThatRunBeyondTheLimit) {
    EXPECT_EQ(call("b", 5).places, 5);
    const PlacesGiven a = call("a", 4, 0, 10s, 3);
    EXPECT_EQ(a.places, 3);
    EXPECT_EQ(a.others, 5);
    EXPECT_EQ(call("c", 1).places, 0);
    const PlacesGiven b = call("b", 5, 0, 10s, 4);
    EXPECT_EQ(b.others, 3);
    EXPECT_EQ(call("b", 2, b.version).places, 2);
    EXPECT_EQ(call("c", 2).places, 1);
}

TEST_F(FlightScript, SharesTheLimit) {
    EXPECT_EQ(call("a", 4).places, 4);
    const PlacesGiven b = call("b", 4);
    EXPECT_EQ(b.places, 2);
    EXPECT_EQ(b.others, 4);
    const PlacesGiven a = call("a", 2);
    EXPECT_EQ(a.places, 4) << "a call for fewer renews them";
    EXPECT_EQ(call("a", 1, 17).places, 4) << "another version";
    EXPECT_EQ(call("a", 1, a.version).places, 1);
    EXPECT_EQ(call("b", 9).places, 5);
    EXPECT_EQ(call("a", 0, call("a", 1).version).places, 0);
    EXPECT_EQ(call("b", 0, call("b", 1).version).others, 0);
    EXPECT_EQ(redis_->integer({"EXISTS", keys_.flight("k")}), 0);
}

TEST_F(FlightScript, ReadsTheFieldsOfAllNodesSeldom) {
    for (int node = 0; node < 5; ++node) {
        call(std::to_string(node), 1);
    }
    const auto read = calls_of("hgetall");
    for (int round = 0; round < 100; ++round) {
        const PlacesGiven given = call(std::to_string(round % 5), 1 + round % 2);
        EXPECT_EQ(given.places + given.others, round == 0 ? 5 : kLimit);
    }
    EXPECT_EQ(calls_of("hgetall"), read);
}

TEST_F(FlightScript, SumsThePlacesAgainWhenThoseOfANodeEnd) {
    call("short", 4, 0, 30ms);
    EXPECT_EQ(call("b", 6).places, 2);
    std::this_thread::sleep_for(40ms);
    EXPECT_EQ(call("b", 6).places, 6);
    EXPECT_EQ(redis_->integer({"HEXISTS", keys_.flight("k"), "api:short"}), 0);
}

TEST_F(FlightScript, RecallsOnlyWhatWasNotRecalledYet) {
    call("a", 6);
    const auto before = calls_of("publish");
    EXPECT_TRUE(call("b", 1).is_recalled);
    EXPECT_EQ(calls_of("publish") - before, 1);
    for (int i = 0; i < 60; ++i) {
        std::this_thread::sleep_for(25ms);
        call("b", 1);
    }
    EXPECT_EQ(calls_of("publish") - before, 1) << "nothing was given since";
    call("a", 5, call("a", 6).version);
    EXPECT_FALSE(call("a", 6).is_recalled) << "given after the recall";
    EXPECT_TRUE(call("b", 1).is_recalled);
    EXPECT_EQ(calls_of("publish") - before, 2);
    call("a", 5, call("a", 6).version);
    EXPECT_TRUE(call("a", 6).is_recalled) << "the node learns of the recall that lasts";
    std::this_thread::sleep_for(1001ms);
    EXPECT_FALSE(call("b", 1).is_recalled);
    EXPECT_EQ(calls_of("publish") - before, 2) << "so it needs no other";
}

TEST_F(FlightScript, RecallsNothingThatIsGivenLater) {
    set_clock(start_ + 9s);
    call("a", 6);
    const auto before = calls_of("publish");
    for (const auto time : {3s, 5s, 7s}) {
        set_clock(start_ + time);
        EXPECT_FALSE(call("b", 1).is_recalled) << "the clock went back";
    }
    EXPECT_EQ(calls_of("publish") - before, 0);
    set_clock(start_ + 9s);
    EXPECT_TRUE(call("b", 1).is_recalled);
    EXPECT_EQ(calls_of("publish") - before, 1);
}

TEST_F(FlightScript, RecallsAgainIfNobodyCouldBeTold) {
    call("a", 6);
    redis_->run({"ACL", "SETUSER", "default", "-publish"});
    EXPECT_FALSE(call("b", 1).is_recalled);
    redis_->run({"ACL", "SETUSER", "default", "+publish"});
    EXPECT_TRUE(call("b", 1).is_recalled);
}

TEST_F(FlightScript, DoesNothingAfterItsDeadline) {
    deadline_ = now() - 1ms;
    is_late_ = true;
    call("a", 3);
    EXPECT_EQ(redis_->integer({"EXISTS", keys_.flight("k")}), 0);
}

}  // namespace
}  // namespace tollgate::redis
