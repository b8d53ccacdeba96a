#include "module/redis/protocol/acquire_codec.hpp"

#include <gtest/gtest.h>

#include "t/unit/redis/resp.hpp"

namespace tollgate::redis {
namespace {

using namespace resp;
using namespace std::chrono_literals;
using Texts = std::vector<std::string>;

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
    acquire.demand.cost = 3;
    acquire.count = 7;
    return acquire;
}

/// The string with 8 bytes per number.
std::string packed(const std::vector<std::int64_t>& numbers) {
    std::string bytes;
    for (const auto number : numbers) {
        for (int shift = 0; shift < 64; shift += 8) {
            bytes += static_cast<char>(static_cast<std::uint64_t>(number) >> shift);
        }
    }
    return bytes;
}

std::string numbers(std::initializer_list<std::int64_t> numbers) {
    return array({bulk(packed(numbers))});
}

/// The words as texts.
std::vector<std::string> texts(const redis::Words& words) {
    std::vector<std::string> texts;
    const auto reply =
        parsed("*" + std::to_string(words.size()) + "\r\n" + std::string(words.bytes()));
    for (const auto* element : elements_of(*reply)) {
        texts.emplace_back(text_of(*element));
    }
    return texts;
}

const Texts kTerms{
    "3",  // cost
    "0",  // no ban
    "2",  // tables
    "2",  // api: windows
    "0",  // no history
    "60",          "60000", "1000", "86400000", "60.number", "60.count",  "86400.number",
    "86400.count", "-1",  // search: windows
    "0",           "5",     "1000", "1.number", "1.count",   "1.previous"};

Texts operator+(Texts a, const Texts& b) {
    a.insert(a.end(), b.begin(), b.end());
    return a;
}

TEST(AcquireCall, NamesKeysThenTermsThenTheId) {
    const auto call = acquire_call(std::array{two_tables()}, Keys("p:"), {.node = "n1"});
    EXPECT_EQ(texts(call.keys), (Texts{"p:quota:{k1}:api", "p:quota:{k1}:search"}));
    EXPECT_EQ(texts(call.arguments), (Texts{"26", "0", "n1", "0"} + kTerms + Texts{"6", "7", "0"}));
}

Acquire of_month() {
    Acquire acquire;
    acquire.id = "k1";
    acquire.quotas = std::make_shared<const Quotas>(
        Quotas{table("api", {{100, 86400s}, {1000, Period::month()}})});
    return acquire;
}

TEST(AcquireCall, NamesAMonth) {
    const auto call = acquire_call(std::array{of_month()}, Keys(""), {});
    EXPECT_EQ(texts(call.arguments), (Texts{"19",
                                            "0",
                                            "",
                                            "0",
                                            "1",
                                            "0",
                                            "1",
                                            "2",
                                            "0",
                                            "100",
                                            "86400000",
                                            "1000",
                                            "0",
                                            "86400.number",
                                            "86400.count",
                                            "month.number",
                                            "month.count",
                                            "6",
                                            "1",
                                            "0"}));
}

TEST(AcquireCall, NamesTheHistory) {
    TableQuota counted = table("b", {{100, 86400s}});
    counted.history = std::chrono::days(90);
    Acquire acquire;
    acquire.id = "k1";
    acquire.quotas = std::make_shared<const Quotas>(Quotas{table("a", {{5, 60s}}), counted});
    acquire.demand.ban = BanPolicy{20, 1min, 10min, 24h};
    auto call = acquire_call(std::array{acquire}, Keys("p:"), {});
    EXPECT_EQ(texts(call.keys),
              (Texts{"p:id:{k1}", "p:ban:{k1}", "p:history:{k1}", "p:quota:{k1}:a",
                     "p:quota:{k1}:b", "p:subjects", "p:subject_ends"}));
    const auto arguments = texts(call.arguments);
    EXPECT_EQ(Texts(arguments.begin() + 10, arguments.end()),
              (Texts{"2", "1", "0", "5", "60000", "60.number", "60.count", "1", "90", "100",
                     "86400000", "86400.number", "86400.count", "6", "1", "0"}));
    Acquire without = acquire;
    counted.history = {};
    without.quotas = std::make_shared<const Quotas>(Quotas{table("a", {{5, 60s}}), counted});
    call = acquire_call(std::array{acquire, without}, Keys(""), {});
    EXPECT_EQ(texts(call.keys).size(), 5 + 4 + 2);
    EXPECT_EQ(texts(call.arguments).size(), 4 + 2 * 19 + 2 * 3) << "other terms";
}

TEST(AcquireCall, NamesTheStreamOfNotices) {
    TableQuota noticed = table("b", {{100, 60s}});
    Acquire acquire;
    acquire.id = "k1";
    acquire.quotas = std::make_shared<const Quotas>(Quotas{noticed});
    EXPECT_FALSE(need_lists(std::array{acquire}));
    noticed.notify = "80 100";
    Acquire other = acquire;
    other.quotas = std::make_shared<const Quotas>(Quotas{noticed});
    const std::array acquires{acquire, other};
    EXPECT_TRUE(need_lists(acquires));
    auto call = acquire_call(acquires, Keys("p:"), {});
    EXPECT_EQ(texts(call.keys), (Texts{"p:quota:{k1}:b", "p:quota:{k1}:b", "p:notices",
                                       "p:subjects", "p:subject_ends"}));
    call = acquire_call(std::array{other}, Keys("p:"), {.node = {}, .tag = "7"});
    EXPECT_EQ(texts(call.keys),
              (Texts{"p:quota:{k1}:b", "p:notices:{7}", "p:subjects:{7}", "p:subject_ends:{7}"}))
        << "of the slot";
    call = acquire_call(acquires, Keys("p:"), {});
    const auto arguments = texts(call.arguments);
    EXPECT_EQ(std::ranges::count(arguments, "0 80 100"), 1) << "other terms";
}

TEST(AcquireCall, GivesTermsOnce) {
    Acquire second = two_tables();
    second.id = "k2";
    second.count = 1;
    Acquire third = second;
    third.demand.cost = 1;
    const auto call = acquire_call(std::array{two_tables(), third, second}, Keys(""), {});
    EXPECT_EQ(call.keys.size(), 6);
    Texts others = kTerms;
    others[0] = "1";
    EXPECT_EQ(texts(call.arguments),
              (Texts{"46", "0", "", "0"} + kTerms + others + Texts{"6", "7", "0"} +
               Texts{"26", "1", "0"} + Texts{"6", "1", "0"}));
}

TEST(AcquireCall, GivesArgumentsOfAlikeIdsOnce) {
    std::array<Acquire, 6> acquires;
    acquires.fill(two_tables());
    acquires[3].lease = 2;
    acquires[5].count = 1;
    const auto call = acquire_call(acquires, Keys(""), {});
    EXPECT_EQ(call.keys.size(), 12);
    EXPECT_EQ(texts(call.arguments),
              (Texts{"26", "0", "", "0"} + kTerms + Texts{"6", "7", "-2"} +
               Texts{"6", "7", "1", packed({2})} + Texts{"6", "7", "0"} + Texts{"6", "1", "0"}));
    acquires[1].lease = 3;
    acquires[2].lease = 4;
    acquires[4].strikes = 1;
    EXPECT_EQ(texts(acquire_call(acquires, Keys(""), {}).arguments),
              (Texts{"26", "0", "", "0"} + kTerms + Texts{"6", "7", "0"} +
               Texts{"6", "7", "1", packed({3, 4, 2})} + Texts{"6", "7", "2", "0", "1:0"} +
               Texts{"6", "1", "0"}));
}

TEST(AcquireCall, IsTheSameWithKnownTerms) {
    KnownTerms known;
    for (int round = 0; round < 3; ++round) {
        for (int i = 0; i < 12; ++i) {  // more than are kept
            std::array<Acquire, 2> acquires;
            acquires.fill(two_tables());
            acquires[0].demand.cost = 1 + i;
            acquires[1].demand.ban = BanPolicy{20 + i / 2, 1min, 10min, 24h};
            const auto call = acquire_call(acquires, Keys("p:"), {.node = "n", .terms = &known});
            const auto expected = acquire_call(acquires, Keys("p:"), {.node = "n"});
            EXPECT_EQ(call.arguments.bytes(), expected.arguments.bytes());
            EXPECT_EQ(call.keys.bytes(), expected.keys.bytes());
        }
    }
}

TEST(AcquireCall, WritesTheBanInMilliseconds) {
    Acquire acquire = two_tables();
    acquire.demand.ban = BanPolicy{20, 1min, 10min, 24h};
    auto call = acquire_call(std::array{acquire}, Keys(""), {});
    EXPECT_EQ(texts(call.keys)[0], "id:{k1}");
    EXPECT_EQ(texts(call.keys)[1], "ban:{k1}");
    const auto arguments = texts(call.arguments);
    EXPECT_EQ(Texts(arguments.begin() + 5, arguments.begin() + 11),
              (Texts{"20", "60000", "600000", "86400000", "11", "2"}));
    acquire.demand.refusals_strike = false;
    call = acquire_call(std::array{acquire}, Keys(""), {});
    EXPECT_EQ(texts(call.arguments)[9], "00");
}

TEST(AcquireCall, WritesOptionalTermsIfThereAreAny) {
    Acquire acquire = two_tables();
    acquire.adjustments.resize(3);
    acquire.report_numbers.resize(2);
    const auto rest = [&] {
        const auto arguments = texts(acquire_call(std::array{acquire}, Keys(""), {}).arguments);
        return Texts(arguments.begin() + 26, arguments.end());
    };
    EXPECT_EQ(rest(), Texts{"0"});
    acquire.lease = 4;
    EXPECT_EQ(rest(), (Texts{"1", packed({4})}));
    acquire.lease = 0;
    acquire.strikes = 2;
    acquire.struck_since = -1500ms;
    EXPECT_EQ(rest(), (Texts{"2", "0", "2:1500"}));
    acquire.adjustments = {{5, 6}, {7, 0}, {8, -9}};
    EXPECT_EQ(rest(), (Texts{"14", "0", "2:1500", "0", "0", "5", "6", "0", "7", "0", "0", "0", "8",
                             "-9", "0"}));
    acquire.report_numbers = {0, 77};
    EXPECT_EQ(rest(), (Texts{"14", "0", "2:1500", "1", "0", "5", "6", "0", "7", "0", "0", "77", "8",
                             "-9", "0"}));
    acquire.lost_calls.resize(2);
    acquire.lost_calls[0].add(5, {});
    acquire.lost_calls[0].add(9, {});
    EXPECT_EQ(rest()[4], "0:5:9");
    EXPECT_EQ(rest()[11], "77");
    const auto call = acquire_call(std::array{acquire}, Keys("p:"),
                                   {.node = "n", .deadline = Instant(12ms), .call = 31});
    EXPECT_EQ(texts(call.keys), (Texts{"p:quota:{k1}:api", "p:quota:{k1}:search",
                                       "p:report:{k1}:search:n:1-sliding"}));
    EXPECT_EQ(texts(call.arguments)[1], "12");
    EXPECT_EQ(texts(call.arguments)[3], "31");
    acquire.adjustments.assign(3, {});
    EXPECT_EQ(rest()[0], "14") << "also without adjustments";
}

TEST(ReadAcquired, ReadsWhichCallsWereTakenBack) {
    Acquire acquire = two_tables();
    acquire.lost_calls.resize(2);
    acquire.lost_calls[1].add(77, {});
    const auto reply = parsed(numbers({5'000'000, 4, 11, 4, 0, 5, 12, 6, 2, 77, 7, 11, 4, 0, 5,  //
                                       12, 6, 2}));
    const auto results = read_acquired(elements_of(*reply), std::array{acquire, two_tables()});
    ASSERT_TRUE(results);
    EXPECT_EQ(std::get<Acquired>(results->of_ids[0]).taken_back,
              (std::vector<std::uint64_t>{0, 77}));
    EXPECT_TRUE(std::get<Acquired>(results->of_ids[1]).taken_back.empty());
}

TEST(ReadAcquired, ReadsEveryWindowInItsOrder) {
    const auto reply = parsed(numbers({5'000'000, 4, 11, 4, 0, 5, 12, 6, 2}));
    const auto results = read_acquired(elements_of(*reply), std::array{two_tables()});
    ASSERT_TRUE(results);
    const auto& acquired = std::get<Acquired>(results->of_ids.front());
    EXPECT_EQ(acquired.now, Instant(5s));
    EXPECT_EQ(acquired.granted, 4);
    EXPECT_EQ(acquired.limited, 3);
    EXPECT_EQ(acquired.lease, 0);
    EXPECT_EQ(acquired.banned_until, Instant{});
    EXPECT_EQ(acquired.windows, (WindowCounts{{11, 4, 0}, {0, 5, 0}, {12, 6, 2}}));
}

TEST(ReadAcquired, ReadsLeasesBansAndErrors) {
    Acquire acquire = two_tables();
    acquire.demand.ban = BanPolicy{20, 1min, 10min, 24h};
    Acquire leasing = two_tables();
    leasing.lease = 9;
    const auto reply = parsed(array({bulk(packed({5'000'000, 1, 2, 9000, 4, 1, 2, 3, 4, 5, 6, 7,  //
                                                  -1,        7, 8, 1,    2, 3, 4, 5, 6, 7})),
                                     error("WRONGTYPE x")}));
    const auto results =
        read_acquired(elements_of(*reply), std::array{acquire, two_tables(), leasing});
    ASSERT_TRUE(results);
    const auto& banned = std::get<Acquired>(results->of_ids[0]);
    EXPECT_EQ(banned.granted, 1);
    EXPECT_EQ(banned.limited, 2);
    EXPECT_EQ(banned.banned_until, Instant(9s));
    EXPECT_EQ(banned.strikes, 4);
    EXPECT_EQ(std::get<std::string_view>(results->of_ids[1]), "WRONGTYPE x");
    EXPECT_EQ(std::get<Acquired>(results->of_ids[2]).lease, 8);
    EXPECT_EQ(std::get<Acquired>(results->of_ids[2]).now, Instant(5s));
}

TEST(ReadAcquired, ReadsLeasesOfOtherNodes) {
    const std::array acquires{two_tables(), two_tables(), two_tables()};
    const auto first = packed({5'000'000, 7, 11, 4, 0, 5, 12, 6, 2, -1, 0, 1, 2, 3, 4, 5, 6, 7});
    const auto reply =
        parsed(array({bulk(first), error("ERR"), bulk(packed({2, 1, 7, 0, 3, 2, 4'000, 5'000}))}));
    const auto results = read_acquired(elements_of(*reply), acquires);
    ASSERT_TRUE(results);
    EXPECT_TRUE(std::get<Acquired>(results->of_ids[0]).leased_elsewhere.empty());
    EXPECT_EQ(std::get<Acquired>(results->of_ids[2]).leased_elsewhere,
              (std::vector<LeaseElsewhere>{{}, {.at = Instant(4s), .recalled = Instant(5s)}}));
    for (const auto& further :
         {packed({4, 1, 5, 6}), packed({0, 1, 5, 6}), packed({1, 3, 5, 6}), packed({1, 0, 5, 6}),
          packed({1, 1, 5}), packed({1, 1, -1, 6}), packed({1, 1, 5, -1})}) {
        const auto wrong = parsed(array({bulk(first), error("ERR"), bulk(further)}));
        EXPECT_FALSE(read_acquired(elements_of(*wrong), acquires));
    }
}

TEST(ReadAcquired, ReadsIdsThatHaveOnlyTheirCounts) {
    Acquire acquire;
    acquire.quotas =
        std::make_shared<const Quotas>(Quotas{table("api", {{60, 60s}, {1000, 86400s}})});
    acquire.count = 2;
    Acquire leasing = acquire;
    leasing.lease = 9;
    const std::array acquires{leasing, leasing, acquire, acquire};
    const auto reply = parsed(array({bulk(packed({5'000'000, 2, 9, 11, 4, 1, 5,  //
                                                  -2, 6, 7, -1, -2, 8, 9})),
                                     error("WRONGTYPE x")}));
    const auto results = read_acquired(elements_of(*reply), acquires);
    ASSERT_TRUE(results);
    const auto& second = std::get<Acquired>(results->of_ids[1]);
    EXPECT_EQ(second.granted, 2);
    EXPECT_EQ(second.limited, 0);
    EXPECT_EQ(second.lease, 9);
    EXPECT_EQ(second.now, Instant(5s));
    EXPECT_EQ(second.windows, (WindowCounts{{11, 6, 0}, {1, 7, 0}}));
    EXPECT_TRUE(std::holds_alternative<std::string_view>(results->of_ids[2]));
    const auto& last = std::get<Acquired>(results->of_ids[3]);
    EXPECT_EQ(last.lease, 0);
    EXPECT_EQ(last.windows, (WindowCounts{{11, 8, 0}, {1, 9, 0}}));
}

TEST(ReadAcquired, RefusesCountsOfUnknownWindows) {
    Acquire acquire;
    acquire.quotas =
        std::make_shared<const Quotas>(Quotas{table("api", {{60, 60s}, {1000, 86400s}})});
    const auto is_read = [](const std::vector<std::int64_t>& numbers,
                            const std::array<Acquire, 2>& acquires) {
        const auto reply = parsed(array({bulk(packed(numbers))}));
        return read_acquired(elements_of(*reply), acquires).has_value();
    };
    EXPECT_TRUE(is_read({5'000'000, 1, 11, 4, 1, 5, -2, 6, 7}, {acquire, acquire}));
    EXPECT_FALSE(is_read({5'000'000, 1, 11, 4, 1, 5, -2, 6}, {acquire, acquire}));
    EXPECT_FALSE(is_read({5'000'000, -2, 4, 5, -2, 6, 7}, {acquire, acquire})) << "none before";
    EXPECT_FALSE(is_read({5'000'000, 1, 11, 4, 1, 5, -2, 6, 7}, {acquire, two_tables()}));
    EXPECT_FALSE(is_read({5'000'000, 4, 11, 4, 0, 5, 12, 6, 2, -2, 6, 7}, {two_tables(), acquire}));
}

/// An entry may hold a number that no gateway writes. The other ids are not affected.
TEST(ReadAcquired, SharesTheNumbersOfAnIdWithAWrongCount) {
    Acquire acquire;
    acquire.quotas =
        std::make_shared<const Quotas>(Quotas{table("api", {{60, 60s}, {1000, 86400s}})});
    const auto reply = parsed(numbers({5'000'000, 1, 11, -4, 1, 5, -2, 6, 7}));
    const auto results = read_acquired(elements_of(*reply), std::array{acquire, acquire});
    ASSERT_TRUE(results);
    EXPECT_TRUE(std::holds_alternative<std::string_view>(results->of_ids[0]));
    EXPECT_EQ(std::get<Acquired>(results->of_ids[1]).windows,
              (WindowCounts{{11, 6, 0}, {1, 7, 0}}));
}

TEST(ReadAcquired, RefusesMalformedReplies) {
    const auto failed = packed({5000, -1});
    const auto good = packed({5'000'000, 4, 11, 4, 0, 5, 12, 6, 2});
    for (const std::string& text : {
             array({}),
             array({bulk("")}),
             array({error("ERR")}),
             array({kNil}),
             array({number(5000)}),
             array({array({bulk(good)})}),
             array({"+" + good + "\r\n"}),
             array({bulk(good), bulk(good)}),
             array({bulk(good), error("ERR")}),
             array({bulk(good.substr(1))}),
             array({bulk(good + "x")}),
             numbers({}),
             numbers({5000, 4, 11, 4, 0, 5, 12, 6}),
             numbers({5000, 4, 11, 4, 0, 5, 12, 6, 2, 1}),
             numbers({5000, 8, 11, 4, 0, 5, 12, 6, 2}),
             numbers({-1, 4, 11, 4, 0, 5, 12, 6, 2}),
             array({bulk(failed)}),
             array({bulk(failed), bulk("ERR")}),
             array({bulk(failed), kNil}),
             array({bulk(failed), error("ERR"), error("ERR")}),
         }) {
        const auto reply = parsed(text);
        ASSERT_NE(reply, nullptr) << text;
        EXPECT_FALSE(read_acquired(elements_of(*reply), std::array{two_tables()})) << text;
    }
}

TEST(ReadAcquired, ANumberOutOfRangeIsAnErrorOfItsIdOnly) {
    const std::vector<std::int64_t> good{4, 11, 4, 0, 5, 12, 6, 2};
    for (const auto& [place, value] :
         std::vector<std::pair<std::size_t, std::int64_t>>{{0, -3},
                                                           {1, 17'812'090'165'276'800},
                                                           {2, -1},
                                                           {3, 2'932'897},
                                                           {7, Units::kMost + 1}}) {
        std::vector<std::int64_t> all{5'000'000};
        all.insert(all.end(), good.begin(), good.end());
        all.insert(all.end(), good.begin(), good.end());
        all[1 + place] = value;
        const auto reply = parsed(array({bulk(packed(all))}));
        const auto results =
            read_acquired(elements_of(*reply), std::array{two_tables(), two_tables()});
        ASSERT_TRUE(results) << place;
        const auto* const error = std::get_if<std::string_view>(results->of_ids.data());
        ASSERT_NE(error, nullptr) << place;
        EXPECT_EQ(*error, kOutOfRange) << place;
        EXPECT_TRUE(std::holds_alternative<Acquired>(results->of_ids[1])) << place;
    }
}

TEST(ReadAcquired, ReadsTheLargestCount) {
    const auto reply = parsed(numbers({5'000'000, 4, 11, Units::kMost, 0, 5, 12, 6, Units::kMost}));
    const auto results = read_acquired(elements_of(*reply), std::array{two_tables()});
    ASSERT_TRUE(results);
    const auto& windows = std::get<Acquired>(results->of_ids[0]).windows;
    EXPECT_EQ(windows.front().count, Units::kMost);
    EXPECT_EQ(windows.back().previous, Units::kMost);
}

TEST(ReadAcquired, ReadsAMonthUpToTheYear9999) {
    const auto is_read = [](std::int64_t month) {
        const auto reply = parsed(numbers({5'000'000, 1, 20'000, 4, month, 5}));
        const auto results = read_acquired(elements_of(*reply), std::array{of_month()});
        const auto* const acquired =
            results ? std::get_if<Acquired>(&results->of_ids.front()) : nullptr;
        return acquired != nullptr && acquired->windows[1] == WindowCount{month, 5, 0};
    };
    const std::int64_t last = window_number(kLatestInstant, Period::month());
    EXPECT_TRUE(is_read(0));
    EXPECT_TRUE(is_read(last));
    EXPECT_FALSE(is_read(last + 1));
    EXPECT_FALSE(is_read(-2));
}

TEST(ReadAcquired, ReadsThatTheDeadlineHadPassed) {
    const auto reply = parsed(numbers({5'000'001}));
    const auto results = read_acquired(elements_of(*reply), std::array{two_tables()});
    ASSERT_TRUE(results);
    EXPECT_TRUE(results->late);
    EXPECT_EQ(results->now, ExactInstant(5s + 1us));
}

TEST(ReadAcquired, RefusesMoreThanWasAskedFor) {
    Acquire acquire = two_tables();
    acquire.lease = 2;
    acquire.demand.ban = BanPolicy{20, 1min, 10min, 24h};
    const auto is_taken = [&](std::int64_t granted, std::int64_t lease, std::int64_t limited) {
        const auto reply =
            parsed(numbers({5000, granted, lease, limited, 0, 0, 2, 3, 4, 5, 6, 7, 8}));
        return read_acquired(elements_of(*reply), std::array{acquire}).has_value();
    };
    EXPECT_TRUE(is_taken(5, 2, 2));
    EXPECT_FALSE(is_taken(8, 0, 0));
    EXPECT_FALSE(is_taken(7, 3, 0));
    EXPECT_FALSE(is_taken(7, 0, 1));
}

}  // namespace
}  // namespace tollgate::redis
