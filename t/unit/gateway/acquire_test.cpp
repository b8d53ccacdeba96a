#include "module/redis/acquire.hpp"

#include <gtest/gtest.h>

#include "module/redis/acquire_script.hpp"
#include "module/redis/reply.hpp"

namespace tollgate::redis {
namespace {

using namespace std::chrono_literals;

Acquire two_tables() {
    Acquire acquire;
    acquire.id = "k1";
    acquire.quotas = {{"api", {{60, 60s}, {1000, 86400s}}, false}, {"search", {{5, 1s}}, true}};
    acquire.cost = 3;
    return acquire;
}

ReplyPtr parsed(std::string_view text) {
    ReplyReader reader;
    reader.feed(text);
    return reader.next();
}

std::string integers(std::initializer_list<long long> values) {
    std::string text = "*" + std::to_string(values.size()) + "\r\n";
    for (const auto value : values) {
        text += ":" + std::to_string(value) + "\r\n";
    }
    return text;
}

TEST(AcquireCommand, NamesKeysThenLimits) {
    EXPECT_EQ(acquire_command(two_tables(), Keys("p:"), "sha"),
              (std::vector<std::string>{"EVALSHA",
                                        "sha",
                                        "3",
                                        "p:ban:{k1}",
                                        "p:quota:{k1}:api",
                                        "p:quota:{k1}:search",
                                        "3",
                                        "0",
                                        "0",
                                        "0",
                                        "0",
                                        "0",  // cost, no ban
                                        "2",
                                        "60",
                                        "60",
                                        "0",
                                        "1000",
                                        "86400",
                                        "0",  // api
                                        "1",
                                        "5",
                                        "1",
                                        "1"}));  // search
}

TEST(AcquireCommand, TellsTheBanInMilliseconds) {
    Acquire acquire = two_tables();
    acquire.ban = BanPolicy{20, 1min, 10min, 24h};
    auto command = acquire_command(acquire, Keys(""), "sha");
    EXPECT_EQ(std::vector(command.begin() + 7, command.begin() + 12),
              (std::vector<std::string>{"1", "20", "60000", "600000", "86400000"}));
    acquire.strikes = false;
    command = acquire_command(acquire, Keys(""), "sha");
    EXPECT_EQ(command[7], "1");
    EXPECT_EQ(command[8], "0");
}

TEST(EvaluateInFull, SendsTheScriptInPlaceOfItsDigest) {
    auto command = acquire_command(two_tables(), Keys(""), acquire_script_sha1());
    EXPECT_EQ(command[1].size(), 40);
    const auto rest = std::vector(command.begin() + 2, command.end());
    evaluate_in_full(command);
    EXPECT_EQ(command[0], "EVAL");
    EXPECT_EQ(command[1], kAcquireScript);
    EXPECT_EQ(std::vector(command.begin() + 2, command.end()), rest);
}

TEST(ReadAcquired, ReadsEveryWindowInItsOrder) {
    const auto reply = parsed(integers({0, 5000, 0, 7, 60'000, 0, 0, 86'400'000, 1, 2, 6000, 0}));
    const auto acquired = read_acquired(*reply, two_tables());
    ASSERT_TRUE(acquired);
    EXPECT_EQ(acquired->outcome, Acquired::Outcome::kLimited);
    EXPECT_EQ(acquired->now, Instant(5s));
    ASSERT_EQ(acquired->windows.size(), 3);
    EXPECT_EQ(acquired->windows[0].rate, (Rate{60, 60s}));
    EXPECT_EQ(acquired->windows[0].remaining, 7);
    EXPECT_EQ(acquired->windows[0].reset, Instant(60s));
    EXPECT_FALSE(acquired->windows[0].exhausted);
    EXPECT_TRUE(acquired->windows[1].exhausted);
    EXPECT_EQ(acquired->windows[2].rate, (Rate{5, 1s}));
}

TEST(ReadAcquired, ReadsABan) {
    const auto reply = parsed(integers({-1, 5000, 9000, 0, 1, 1, 0, 1, 1, 0, 1, 1}));
    const auto acquired = read_acquired(*reply, two_tables());
    ASSERT_TRUE(acquired);
    EXPECT_EQ(acquired->outcome, Acquired::Outcome::kBanned);
    EXPECT_EQ(acquired->banned_until, Instant(9s));
}

TEST(ReadAcquired, RefusesWhatIsNoAnswer) {
    for (const std::string& text : {
             std::string("+OK\r\n"),
             std::string("-NOSCRIPT No matching script\r\n"),
             std::string("$-1\r\n"),
             std::string(":1\r\n"),
             integers({}),
             integers({1, 5000, 0}),
             integers({1, 5000, 0, 7, 60'000, 0}),
             integers({2, 5000, 0, 7, 1, 0, 0, 1, 0, 2, 1, 0}),
             integers({1, 5000, 0, 7, 1, 0, 0, 1, 0, 2, 1, 0, 0}),
             std::string("*12\r\n+1\r\n") + integers({0, 0, 7, 1, 0, 0, 1, 0, 2, 1, 0}).substr(5),
         }) {
        const auto reply = parsed(text);
        ASSERT_NE(reply, nullptr) << text;
        EXPECT_FALSE(read_acquired(*reply, two_tables())) << text;
    }
}

}  // namespace
}  // namespace tollgate::redis
