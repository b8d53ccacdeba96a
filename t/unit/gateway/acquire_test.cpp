#include "module/redis/acquire.hpp"

#include <gtest/gtest.h>

#include "module/redis/reply.hpp"

namespace tollgate::redis {
namespace {

using namespace std::chrono_literals;
using Words = std::vector<std::string>;

TableQuota table(std::string name, std::vector<Rate> rates, bool sliding = false) {
    TableQuota quota;
    quota.table = std::move(name);
    quota.rates = std::move(rates);
    quota.sliding = sliding;
    return quota;
}

Acquire two_tables() {
    Acquire acquire;
    acquire.id = "k1";
    acquire.quotas = std::make_shared<const Quotas>(
        Quotas{table("api", {{60, 60s}, {1000, 86400s}}), table("search", {{5, 1s}}, true)});
    acquire.cost = 3;
    acquire.count = 7;
    return acquire;
}

ReplyPtr parsed(std::string_view text) {
    ReplyReader reader;
    reader.feed(text);
    return reader.next();
}

std::string integers(std::initializer_list<long long> values) {
    std::string text;
    for (const auto value : values) {
        text += ":" + std::to_string(value) + "\r\n";
    }
    return text;
}

std::string array(std::size_t length, const std::string& elements) {
    return "*" + std::to_string(length) + "\r\n" + elements;
}

const Words kTerms{"3",                                                                 // cost
                   "0",                                                                 // no ban
                   "2",                                                                 // tables
                   "2",         "60",       "60000",        "1000",        "86400000",  // api
                   "60.number", "60.count", "86400.number", "86400.count", "-1",
                   "5",         "1000",  // search
                   "1.number",  "1.count",  "1.previous"};

Words operator+(Words a, const Words& b) {
    a.insert(a.end(), b.begin(), b.end());
    return a;
}

TEST(AcquireCall, NamesKeysThenTermsThenTheId) {
    const auto call = acquire_call(std::array{two_tables()}, Keys("p:"));
    EXPECT_EQ(call.keys, (Words{"p:quota:{k1}:api", "p:quota:{k1}:search"}));
    EXPECT_EQ(call.arguments, (Words{"21"} + kTerms + Words{"3", "7", "0"}));
}

TEST(AcquireCall, GivesTermsOnce) {
    Acquire second = two_tables();
    second.id = "k2";
    second.count = 1;
    Acquire third = second;
    third.cost = 1;
    const auto call = acquire_call(std::array{two_tables(), third, second}, Keys(""));
    EXPECT_EQ(call.keys.size(), 6);
    Words others = kTerms;
    others[0] = "1";
    EXPECT_EQ(call.arguments, (Words{"39"} + kTerms + others + Words{"3", "7", "0"} +
                               Words{"21", "1", "0"} + Words{"3", "1", "0"}));
}

TEST(AcquireCall, TellsTheBanInMilliseconds) {
    Acquire acquire = two_tables();
    acquire.ban = BanPolicy{20, 1min, 10min, 24h};
    auto call = acquire_call(std::array{acquire}, Keys(""));
    EXPECT_EQ(call.keys.front(), "ban:{k1}");
    EXPECT_EQ(Words(call.arguments.begin() + 2, call.arguments.begin() + 8),
              (Words{"20", "60000", "600000", "86400000", "1", "2"}));
    acquire.refusals_strike = false;
    call = acquire_call(std::array{acquire}, Keys(""));
    EXPECT_EQ(call.arguments[6], "0");
}

TEST(AcquireCall, TellsTheRestWhereThereIsAny) {
    Acquire acquire = two_tables();
    acquire.adjustments.resize(3);
    const auto rest = [&] {
        const auto call = acquire_call(std::array{acquire}, Keys(""));
        return Words(call.arguments.begin() + 21, call.arguments.end());
    };
    EXPECT_EQ(rest(), Words{"0"});
    acquire.lease = 4;
    EXPECT_EQ(rest(), (Words{"2", "4", "0"}));
    acquire.lease = 0;
    acquire.strikes = 2;
    EXPECT_EQ(rest(), (Words{"2", "0", "2"}));
    acquire.adjustments = {{5, 6}, {7, 0}, {8, -9}};
    EXPECT_EQ(rest(), (Words{"8", "0", "2", "5", "6", "7", "0", "8", "-9"}));
}

TEST(ReadAcquired, ReadsEveryWindowInItsOrder) {
    const auto reply = parsed(array(9, integers({5000, 4, 11, 4, 0, 5, 12, 6, 2})));
    const auto results = read_acquired(elements_of(*reply), std::array{two_tables()});
    ASSERT_TRUE(results);
    const auto& acquired = std::get<Acquired>(results->front());
    EXPECT_EQ(acquired.now, Instant(5s));
    EXPECT_EQ(acquired.granted, 4);
    EXPECT_EQ(acquired.limited, 3);
    EXPECT_EQ(acquired.lease, 0);
    EXPECT_EQ(acquired.banned_until, Instant{});
    EXPECT_EQ(acquired.windows, (std::vector<WindowCount>{{11, 4, 0}, {0, 5, 0}, {12, 6, 2}}));
}

TEST(ReadAcquired, ReadsLeasesBansAndErrors) {
    Acquire acquire = two_tables();
    acquire.ban = BanPolicy{20, 1min, 10min, 24h};
    Acquire leasing = two_tables();
    leasing.lease = 9;
    const auto reply = parsed(
        array(1 + 11 + 1 + 9, integers({5000, 1, 2, 9000, 4, 1, 2, 3, 4, 5, 6, 7}) +
                                  "-WRONGTYPE x\r\n" + integers({7, 8, 1, 2, 3, 4, 5, 6, 7})));
    const auto results =
        read_acquired(elements_of(*reply), std::array{acquire, two_tables(), leasing});
    ASSERT_TRUE(results);
    const auto& banned = std::get<Acquired>((*results)[0]);
    EXPECT_EQ(banned.granted, 1);
    EXPECT_EQ(banned.limited, 2);
    EXPECT_EQ(banned.banned_until, Instant(9s));
    EXPECT_EQ(banned.strikes, 4);
    EXPECT_EQ(std::get<std::string_view>((*results)[1]), "WRONGTYPE x");
    EXPECT_EQ(std::get<Acquired>((*results)[2]).lease, 8);
    EXPECT_EQ(std::get<Acquired>((*results)[2]).now, Instant(5s));
}

TEST(ReadAcquired, RefusesWhatIsNoAnswer) {
    for (const std::string& text : {
             array(0, ""),
             array(1, integers({5000})),
             array(1, "-ERR\r\n"),
             array(8, integers({5000, 4, 11, 4, 0, 5, 12, 6})),
             array(10, integers({5000, 4, 11, 4, 0, 5, 12, 6, 2, 1})),
             array(9, integers({5000, 8, 11, 4, 0, 5, 12, 6, 2})),
             array(9, integers({5000, -1, 11, 4, 0, 5, 12, 6, 2})),
             array(9, integers({5000, 4, 11, 4, 0, 5, 12, 6, 9'000'000'000'000'000})),
             array(9, "+5000\r\n" + integers({4, 11, 4, 0, 5, 12, 6, 2})),
             array(9, integers({5000, 4, 11, 4}) + "-ERR\r\n" + integers({5, 12, 6, 2})),
             array(9, integers({5000, 4, 11, 4}) + "$-1\r\n" + integers({5, 12, 6, 2})),
         }) {
        const auto reply = parsed(text);
        ASSERT_NE(reply, nullptr) << text;
        EXPECT_FALSE(read_acquired(elements_of(*reply), std::array{two_tables()})) << text;
    }
}

TEST(ReadAcquired, RefusesMoreThanWasAskedFor) {
    Acquire acquire = two_tables();
    acquire.lease = 2;
    for (const auto& numbers : {integers({5000, 8, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7}),
                                integers({5000, 7, 3, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7}),
                                integers({5000, 7, 0, 1, 0, 0, 1, 2, 3, 4, 5, 6, 7})}) {
        acquire.ban = BanPolicy{20, 1min, 10min, 24h};
        const auto reply = parsed(array(13, numbers));
        EXPECT_FALSE(read_acquired(elements_of(*reply), std::array{acquire})) << numbers;
    }
}

}  // namespace
}  // namespace tollgate::redis
