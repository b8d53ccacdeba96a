#include "module/store/statistics_registry.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace tollgate {
namespace {

/// Zeroed memory, aligned as the zone's is.
class Memory {
  public:
    explicit Memory(std::size_t size) : words_(size / sizeof(std::uint64_t)) {}
    std::span<std::byte> bytes() { return std::as_writable_bytes(std::span(words_)); }

  private:
    std::vector<std::uint64_t> words_;
};

constexpr std::size_t kSize = std::size_t{64} << 10U;

Status status_of(const StatisticsRegistry& registry) {
    Status status;
    registry.copy_to(status);
    return status;
}

std::uint64_t granted(const Status::Requests& requests) {
    return requests.counts.decided[Verdict::kGranted].value();
}

TEST(StatisticsRegistry, BeginsEmpty) {
    Memory memory(kSize);
    const auto status = status_of(StatisticsRegistry(memory.bytes()));
    EXPECT_TRUE(status.requests.empty());
    EXPECT_TRUE(status.redis.empty());
    EXPECT_EQ(status.node.started.value(), 0);
}

TEST(StatisticsRegistry, FindsTheBlockOfANameAgain) {
    Memory memory(kSize);
    const StatisticsRegistry registry(memory.bytes());
    RequestStatistics& free = registry.requests("api", "free");
    EXPECT_EQ(&registry.requests("api", "free"), &free);
    EXPECT_NE(&registry.requests("api", "pro"), &free);
    EXPECT_NE(&registry.requests("search", "free"), &free);
    EXPECT_NE(&registry.requests("api", ""), &free);
    // The two parts of a name are separate.
    EXPECT_NE(&registry.requests("ap", "ifree"), &registry.requests("apif", "ree"));
    EXPECT_EQ(&registry.redis("main"), &registry.redis("main"));
    EXPECT_NE(&registry.redis("main"), &registry.redis("other"));
}

TEST(StatisticsRegistry, SharesItsCountsWithAllViewsOfTheMemory) {
    Memory memory(kSize);
    const StatisticsRegistry first(memory.bytes());
    RequestStatistics& counted = first.requests("api", "free");
    const StatisticsRegistry second(memory.bytes());
    EXPECT_EQ(&second.requests("api", "free"), &counted);
    counted.note(Verdict::kGranted, false);
    second.requests("api", "free").note(Verdict::kGranted, false);
    counted.note(Verdict::kLimited, true);
    first.redis("main").errors.add(3);
    const auto status = status_of(second);
    ASSERT_EQ(status.requests.size(), 1U);
    EXPECT_EQ(status.requests[0].tables, "api");
    EXPECT_EQ(status.requests[0].plan, "free");
    EXPECT_EQ(granted(status.requests[0]), 2U);
    EXPECT_EQ(status.requests[0].counts.decided[Verdict::kLimited].value(), 0U);
    EXPECT_EQ(status.requests[0].counts.dry_run[Verdict::kLimited].value(), 1U);
    ASSERT_EQ(status.redis.size(), 1U);
    EXPECT_EQ(status.redis[0].name, "main");
    EXPECT_EQ(status.redis[0].counts.errors.value(), 3U);
}

// A reload that removes a plan and adds others, in another order.
TEST(StatisticsRegistry, KeepsTheCountsOfNamesThatStay) {
    Memory memory(kSize);
    const StatisticsRegistry before(memory.bytes());
    before.requests("api", "gone").note(Verdict::kGranted, false);
    before.requests("api", "free").note(Verdict::kGranted, false);
    before.requests("api", "free").note(Verdict::kGranted, false);
    const StatisticsRegistry after(memory.bytes());
    after.requests("new", "free");
    after.requests("api", "free").note(Verdict::kGranted, false);
    const auto status = status_of(after);
    ASSERT_EQ(status.requests.size(), 3U);
    EXPECT_EQ(granted(status.requests[0]), 1U);
    EXPECT_EQ(granted(status.requests[1]), 3U);
    EXPECT_EQ(status.requests[2].tables, "new");
    EXPECT_EQ(granted(status.requests[2]), 0U);
}

TEST(StatisticsRegistry, LetsFurtherNamesShareABlockWhenItIsFull) {
    Memory memory(StatisticsRegistry::kLeastMemory);
    const StatisticsRegistry registry(memory.bytes());
    RequestStatistics& own = registry.requests("api", "free");
    EXPECT_EQ(status_of(registry).requests.size(), 1U)
        << "others are not shown before there are any";
    RequestStatistics& shared = registry.requests("api", "pro");
    EXPECT_NE(&shared, &own);
    EXPECT_EQ(&registry.requests("search", "pro"), &shared);
    EXPECT_EQ(&registry.requests("api", "free"), &own);
    RedisStatistics& redis = registry.redis("main");
    EXPECT_NE(&registry.redis("second"), &redis);
    EXPECT_EQ(&registry.redis("third"), &registry.redis("second"));
    shared.note(Verdict::kGranted, false);
    const auto status = status_of(StatisticsRegistry(memory.bytes()));
    ASSERT_EQ(status.requests.size(), 2U);
    EXPECT_EQ(status.requests[1].tables, "(other)");
    EXPECT_EQ(status.requests[1].plan, "(other)");
    EXPECT_EQ(granted(status.requests[1]), 1U);
    ASSERT_EQ(status.redis.size(), 2U);
    EXPECT_EQ(status.redis[1].name, "(other)");
}

TEST(StatisticsRegistry, LetsNamesThatAreTooLongShareABlock) {
    Memory memory(kSize);
    const StatisticsRegistry registry(memory.bytes());
    const std::string longest(128, 't');
    const std::string plan(64, 'p');
    RequestStatistics& own = registry.requests(longest, plan);
    EXPECT_NE(&registry.requests(longest + "t", plan), &own);
    EXPECT_EQ(&registry.requests(longest + "t", plan), &registry.requests("api", plan + "p"));
    EXPECT_EQ(&registry.redis(longest + "t"), &registry.redis(longest + "u"));
    const auto status = status_of(registry);
    ASSERT_EQ(status.requests.size(), 2U);
    EXPECT_EQ(status.requests[0].tables, longest);
    EXPECT_EQ(status.requests[0].plan, plan);
}

TEST(StatisticsRegistry, FillsItsMemoryAndNoMore) {
    for (std::size_t size = StatisticsRegistry::kLeastMemory; size < 4 * kSize; size += 4104) {
        Memory memory(size + 64);
        const auto bytes = memory.bytes();
        const StatisticsRegistry registry(bytes.first(size));
        for (int i = 0; i < 1000; ++i) {
            registry.requests("api", std::to_string(i)).note(Verdict::kUnavailable, true);
            registry.redis(std::to_string(i)).settled.add();
        }
        std::uint64_t counted = 0;
        for (const auto& requests : status_of(registry).requests) {
            counted += requests.counts.dry_run[Verdict::kUnavailable].value();
        }
        EXPECT_EQ(counted, 1000U) << size;
        for (const std::byte beyond : bytes.subspan(size)) {
            EXPECT_EQ(beyond, std::byte{0});
        }
    }
}

TEST(StatisticsRegistry, RefusesMemoryThatIsTooSmall) {
    Memory memory(kSize);
    EXPECT_THROW(StatisticsRegistry(memory.bytes().first(StatisticsRegistry::kLeastMemory - 1)),
                 std::length_error);
}

}  // namespace
}  // namespace tollgate
