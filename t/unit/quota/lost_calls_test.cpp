// Which calls an acquire names whose replies never came.

#include "module/quota/lost_calls.hpp"

#include <gtest/gtest.h>

#include "module/quota/plain_acquire.hpp"
#include "t/unit/quota/quota_node.hpp"

namespace tollgate {
namespace {

using namespace std::chrono_literals;
using Numbers = std::vector<std::uint64_t>;

Numbers numbers(const LostCalls& lost) {
    return {lost.numbers().begin(), lost.numbers().end()};
}

TEST(LostCalls, KeepsTheLatest) {
    LostCalls lost;
    EXPECT_TRUE(lost.empty());
    for (std::uint64_t number = 1; number <= LostCalls::kMost; ++number) {
        EXPECT_EQ(lost.add(number, SteadyTime(100)), 0);
    }
    EXPECT_EQ(lost.add(9, SteadyTime(50)), 1);
    EXPECT_EQ(numbers(lost), (Numbers{2, 3, 4, 9}));
    EXPECT_FALSE(lost.are_over(SteadyTime(99)));
    EXPECT_TRUE(lost.are_over(SteadyTime(100)));
    EXPECT_FALSE(lost.erase(0));
    EXPECT_FALSE(lost.erase(1));
    EXPECT_TRUE(lost.erase(3));
    EXPECT_EQ(numbers(lost), (Numbers{2, 4, 9}));
    EXPECT_TRUE(lost.contains(9));
    EXPECT_FALSE(lost.contains(0));
    for (const std::uint64_t number : {2, 4, 9}) {
        EXPECT_TRUE(lost.erase(number));
    }
    EXPECT_TRUE(lost.empty());
    lost.add(5, SteadyTime(10));
    EXPECT_TRUE(lost.are_over(SteadyTime(10))) << "a new one";
}

class LostCallsOfNode : public testing::Test {
  protected:
    void lose(std::uint64_t number, std::chrono::milliseconds runs = 0ms) {
        note_lost_call(node_.states, number, node_.moment().steady + runs);
    }
    void reply(const Acquire& acquire, Numbers taken_back) {
        Acquired answer;
        answer.taken_back = std::move(taken_back);
        node_.apply_reply({{.count = 1}, {.count = 1}}, 0, answer, {}, acquire);
    }
    const LostCalls& lost(std::size_t table = 0) const { return node_.states[table].lost_calls; }
    UnitCounts counts(std::size_t table = 0) const { return node_.states[table].counts; }

    Node node_{Quotas{api({{100, 10s}}), search({{100, 60s}})}};
};

TEST_F(LostCallsOfNode, AreNamedInEachTableUntilTheyAreTakenBack) {
    lose(7, 100ms);
    EXPECT_TRUE(node_.is_held());
    EXPECT_TRUE(node_.needs_settling());
    EXPECT_FALSE(is_plain(node_.states, node_.quotas, node_.demand));
    const Acquire acquire = node_.ask();
    ASSERT_EQ(acquire.lost_calls.size(), 2);
    EXPECT_EQ(numbers(acquire.lost_calls[0]), Numbers{7});
    EXPECT_EQ(numbers(acquire.lost_calls[1]), Numbers{7});
    EXPECT_EQ(acquire.adjustments.size(), 2) << "which change nothing";
    node_.restore(acquire);
    reply(node_.ask(), {7, 0});
    EXPECT_TRUE(lost(0).empty());
    EXPECT_EQ(counts(0).calls_taken_back, 1);
    EXPECT_FALSE(lost(1).empty()) << "Redis may still execute it";
    node_.now += 100ms;
    const Acquire last = node_.ask();
    EXPECT_TRUE(last.lost_calls[0].empty());
    lose(8, 100ms);
    reply(last, {0, 0});
    EXPECT_EQ(numbers(lost(0)), Numbers{8}) << "it was not named yet";
    EXPECT_EQ(numbers(lost(1)), Numbers{8});
    EXPECT_EQ(counts(1).calls_lost, 2);
    EXPECT_EQ(counts(1).calls_taken_back, 0);
    EXPECT_EQ(counts(1).calls_left, 1);
}

TEST_F(LostCallsOfNode, AreNotNamedByAnAcquireWithoutThem) {
    EXPECT_TRUE(node_.ask().lost_calls.empty());
    EXPECT_TRUE(node_.ask().adjustments.empty());
}

TEST_F(LostCallsOfNode, GoWithTheirState) {
    lose(7);
    lose(8);
    EXPECT_EQ(lost_with(node_.states[0], node_.quotas[0]).calls_left, 2);
    drop_lost_calls(node_.states[0]);
    EXPECT_EQ(counts().calls_left, 2);
    EXPECT_TRUE(lost().empty());
    for (std::uint64_t number = 1; number <= LostCalls::kMost + 2; ++number) {
        lose(number);
    }
    EXPECT_EQ(counts().calls_left, 4) << "the oldest";
}

}  // namespace
}  // namespace tollgate
