#include "module/zone/statistics_registry.hpp"

#include <gtest/gtest.h>

#include <array>
#include <set>
#include <string>
#include <vector>

namespace tollgate {
namespace {

/// Zeroed memory, aligned as the zone's is.
class AlignedMemory {
  public:
    explicit AlignedMemory(std::size_t size)
        : lines_((size + kCacheLine - 1) / kCacheLine), size_(size) {}
    std::span<std::byte> bytes() { return std::as_writable_bytes(std::span(lines_)).first(size_); }

  private:
    struct alignas(kCacheLine) Line {
        std::array<std::byte, kCacheLine> bytes{};
    };
    std::vector<Line> lines_;
    std::size_t size_;
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
    AlignedMemory memory(kSize);
    const auto status = status_of(StatisticsRegistry(memory.bytes()));
    EXPECT_TRUE(status.requests.empty());
    EXPECT_TRUE(status.redis.empty());
    EXPECT_EQ(status.node.started.value(), 0);
}

TEST(StatisticsRegistry, FindsTheBlockOfANameAgain) {
    AlignedMemory memory(kSize);
    const StatisticsRegistry registry(memory.bytes());
    RequestStatistics& free = registry.requests("api", "free", 0);
    EXPECT_EQ(&registry.requests("api", "free", 0), &free);
    EXPECT_NE(&registry.requests("api", "pro", 0), &free);
    EXPECT_NE(&registry.requests("search", "free", 0), &free);
    EXPECT_NE(&registry.requests("api", "", 0), &free);
    // The two parts of a name are separate.
    EXPECT_NE(&registry.requests("ap", "ifree", 0), &registry.requests("apif", "ree", 0));
    EXPECT_EQ(&registry.redis("main", 0).own, &registry.redis("main", 0).own);
    EXPECT_NE(&registry.redis("main", 0).own, &registry.redis("other", 0).own);
}

TEST(StatisticsRegistry, SharesItsCountsWithAllViewsOfTheMemory) {
    AlignedMemory memory(kSize);
    const StatisticsRegistry first(memory.bytes());
    RequestStatistics& counted = first.requests("api", "free", 0);
    const StatisticsRegistry second(memory.bytes());
    EXPECT_EQ(&second.requests("api", "free", 0), &counted);
    counted.note(Verdict::kGranted, false);
    second.requests("api", "free", 0).note(Verdict::kGranted, false);
    counted.note(Verdict::kLimited, true);
    first.redis("main", 0).own["errors"].add(3);
    const auto status = status_of(second);
    ASSERT_EQ(status.requests.size(), 1U);
    EXPECT_EQ(status.requests[0].tables, "api");
    EXPECT_EQ(status.requests[0].plan, "free");
    EXPECT_EQ(granted(status.requests[0]), 2U);
    EXPECT_EQ(status.requests[0].counts.decided[Verdict::kLimited].value(), 0U);
    EXPECT_EQ(status.requests[0].counts.dry_run[Verdict::kLimited].value(), 1U);
    ASSERT_EQ(status.redis.size(), 1U);
    EXPECT_EQ(status.redis[0].name, "main");
    EXPECT_EQ(status.redis[0].counts["errors"].value(), 3U);
}

// A reload that removes a plan and adds others, in another order.
TEST(StatisticsRegistry, KeepsTheCountsOfNamesThatStay) {
    AlignedMemory memory(kSize);
    const StatisticsRegistry before(memory.bytes());
    before.requests("api", "gone", 0).note(Verdict::kGranted, false);
    before.requests("api", "free", 0).note(Verdict::kGranted, false);
    before.requests("api", "free", 0).note(Verdict::kGranted, false);
    const StatisticsRegistry after(memory.bytes());
    after.requests("new", "free", 0);
    after.requests("api", "free", 0).note(Verdict::kGranted, false);
    const auto status = status_of(after);
    ASSERT_EQ(status.requests.size(), 3U);
    EXPECT_EQ(granted(status.requests[0]), 1U);
    EXPECT_EQ(granted(status.requests[1]), 3U);
    EXPECT_EQ(status.requests[2].tables, "new");
    EXPECT_EQ(granted(status.requests[2]), 0U);
}

TEST(StatisticsRegistry, LetsFurtherNamesShareABlockWhenItIsFull) {
    AlignedMemory memory(StatisticsRegistry::kLeastMemory);
    const StatisticsRegistry registry(memory.bytes());
    RequestStatistics& own = registry.requests("api", "free", 0);
    EXPECT_EQ(status_of(registry).requests.size(), 1U)
        << "others are not shown before there are any";
    RequestStatistics& shared = registry.requests("api", "pro", 0);
    EXPECT_NE(&shared, &own);
    EXPECT_EQ(&registry.requests("search", "pro", 0), &shared);
    EXPECT_EQ(&registry.requests("api", "free", 0), &own);
    RedisStatistics& redis = registry.redis("main", 0).own;
    EXPECT_NE(&registry.redis("second", 0).own, &redis);
    EXPECT_EQ(&registry.redis("third", 0).own, &registry.redis("second", 0).own);
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
    AlignedMemory memory(kSize);
    const StatisticsRegistry registry(memory.bytes());
    const std::string longest(128, 't');
    const std::string plan(64, 'p');
    RequestStatistics& own = registry.requests(longest, plan, 0);
    EXPECT_NE(&registry.requests(longest + "t", plan, 0), &own);
    EXPECT_EQ(&registry.requests(longest + "t", plan, 0), &registry.requests("api", plan + "p", 0));
    EXPECT_EQ(&registry.redis(longest + "t", 0).own, &registry.redis(longest + "u", 0).own);
    const auto status = status_of(registry);
    ASSERT_EQ(status.requests.size(), 2U);
    EXPECT_EQ(status.requests[0].tables, longest);
    EXPECT_EQ(status.requests[0].plan, plan);
}

TEST(StatisticsRegistry, AddsUpTheCountsOfAllWorkers) {
    AlignedMemory memory(kSize);
    const StatisticsRegistry registry(memory.bytes());
    for (std::size_t worker = 0; worker < 4; ++worker) {
        RequestStatistics& counted = registry.requests("api", "free", worker);
        EXPECT_EQ(&registry.requests("api", "free", worker), &counted);
        for (std::size_t i = 0; i <= worker; ++i) {
            counted.note(Verdict::kGranted, false);
        }
        registry.requests("api", "pro", worker).note(Verdict::kLimited, true);
        RedisStatistics& redis = registry.redis("main", worker).own;
        redis["commands.acquire"].add(10 * (worker + 1));
        redis.round_trips.note(std::chrono::microseconds(worker + 1));
        redis["owed_units.lapsed"].add(worker);
    }
    const auto status = status_of(registry);
    ASSERT_EQ(status.requests.size(), 2U);
    EXPECT_EQ(granted(status.requests[0]), 10U);
    EXPECT_EQ(granted(status.requests[1]), 0U);
    EXPECT_EQ(status.requests[1].counts.dry_run[Verdict::kLimited].value(), 4U);
    ASSERT_EQ(status.redis.size(), 1U);
    const RedisStatistics& redis = status.redis[0].counts;
    EXPECT_EQ(redis["commands.acquire"].value(), 100U);
    EXPECT_EQ(redis.round_trips.classes[0].value(), 4U);
    EXPECT_EQ(redis.round_trips.microseconds.value(), 10U);
    EXPECT_EQ(redis["owed_units.lapsed"].value(), 6U);
}

// The first and the last byte of a worker's counters, as numbers of cache lines.
template <typename Statistics>
std::set<std::uintptr_t> lines_of(const Statistics& statistics) {
    const auto begin = reinterpret_cast<std::uintptr_t>(&statistics);
    std::set<std::uintptr_t> lines;
    for (auto line = begin / kCacheLine; line <= (begin + sizeof(statistics) - 1) / kCacheLine;
         ++line) {
        lines.insert(line);
    }
    return lines;
}

TEST(StatisticsRegistry, LetsNoTwoWorkersCountInOneCacheLine) {
    AlignedMemory memory(kSize);
    const StatisticsRegistry registry(memory.bytes());
    std::set<std::uintptr_t> all;
    std::size_t number = 0;
    const auto note = [&](const auto& statistics) {
        const auto lines = lines_of(statistics);
        number += lines.size();
        all.insert(lines.begin(), lines.end());
    };
    for (std::size_t worker = 0; worker < 8; ++worker) {
        note(registry.requests("api", "free", worker));
        note(registry.requests("api", "", worker));
        note(registry.redis("main", worker).own);
    }
    EXPECT_EQ(all.size(), number);
}

TEST(StatisticsRegistry, SharesTheStatesOfWorkers) {
    AlignedMemory memory(kSize);
    const StatisticsRegistry registry(memory.bytes());
    registry.redis("main", 0).workers.breaker_open.start(0, 100);
    registry.redis("main", 0).workers.breaker_open.insert(0, 100);
    registry.redis("main", 1).workers.breaker_open.start(1, 101);
    registry.redis("main", 1).workers.breaker_open.insert(1, 101);
    registry.redis("main", 1).workers.subscribed.start(1, 101);
    registry.redis("main", 1).workers.subscribed.insert(1, 101);
    EXPECT_EQ(registry.redis("main", 2).workers.breaker_open.count(WorkerSet::kMost), 2U);
    EXPECT_EQ(registry.redis("other", 2).workers.breaker_open.count(WorkerSet::kMost), 0U);
    const auto status = status_of(registry);
    ASSERT_EQ(status.redis.size(), 2U);
    EXPECT_EQ(status.redis[0].workers.breaker_open.count(2), 2U);
    EXPECT_EQ(status.redis[0].workers.subscribed.count(2), 1U);
}

TEST(StatisticsRegistry, LetsWorkersShareTheBlockOfANameWhenItIsFull) {
    AlignedMemory memory(StatisticsRegistry::kLeastMemory);
    const StatisticsRegistry registry(memory.bytes());
    for (std::size_t worker = 0; worker < 32; ++worker) {
        registry.requests("api", "free", worker).note(Verdict::kGranted, false);
        registry.requests("api", "pro", worker).note(Verdict::kGranted, false);
        registry.redis("main", worker).own["commands.acquire"].add();
    }
    const auto status = status_of(registry);
    ASSERT_EQ(status.requests.size(), 2U);
    EXPECT_EQ(status.requests[0].plan, "free");
    EXPECT_EQ(granted(status.requests[0]), 32U);
    EXPECT_EQ(status.requests[1].plan, "(other)");
    EXPECT_EQ(granted(status.requests[1]), 32U);
    ASSERT_EQ(status.redis.size(), 1U);
    EXPECT_EQ(status.redis[0].counts["commands.acquire"].value(), 32U);
}

// A reload may add a plan after many workers have made their blocks.
TEST(StatisticsRegistry, KeepsRoomForNamesBesideTheBlocksOfManyWorkers) {
    AlignedMemory memory(std::size_t{16} << 10U);
    const StatisticsRegistry registry(memory.bytes());
    for (std::size_t worker = 0; worker < 128; ++worker) {
        registry.requests("api", "free", worker).note(Verdict::kGranted, false);
    }
    RequestStatistics& added = registry.requests("api", "added", 0);
    added.note(Verdict::kGranted, false);
    registry.requests("api", "added", 1).note(Verdict::kGranted, false);
    const auto status = status_of(registry);
    ASSERT_EQ(status.requests.size(), 2U);
    EXPECT_EQ(granted(status.requests[0]), 128U);
    EXPECT_EQ(status.requests[1].plan, "added");
    EXPECT_EQ(granted(status.requests[1]), 2U);
}

TEST(StatisticsRegistry, KeepsTheCountsOfWorkersThatAReloadRemoves) {
    AlignedMemory memory(kSize);
    const StatisticsRegistry before(memory.bytes());
    for (std::size_t worker = 0; worker < 4; ++worker) {
        before.requests("api", "free", worker).note(Verdict::kGranted, false);
    }
    RequestStatistics& old = before.requests("api", "free", 0);
    const StatisticsRegistry after(memory.bytes());
    RequestStatistics& successor = after.requests("api", "free", 0);
    EXPECT_EQ(&successor, &old) << "an old worker of the same number may still count";
    successor.note(Verdict::kGranted, false);
    const auto status = status_of(after);
    ASSERT_EQ(status.requests.size(), 1U);
    EXPECT_EQ(granted(status.requests[0]), 5U);
}

// The figures of module/docs/operations.md.
TEST(StatisticsRegistry, HasRoomForThirteenPlansInTheSmallestZone) {
    AlignedMemory memory(std::size_t{16} << 10U);
    const StatisticsRegistry registry(memory.bytes());
    for (std::size_t worker = 0; worker < 2; ++worker) {
        registry.redis("main", worker);
        registry.redis("main", worker + 2);  // after a reload
        for (int plan = 0; plan < 13; ++plan) {
            registry.requests("api", std::to_string(plan), worker);
        }
    }
    EXPECT_EQ(status_of(registry).requests.size(), 13U);
    EXPECT_EQ(status_of(registry).requests.back().plan, "12");
    EXPECT_NE(&registry.requests("api", "12", 0), &registry.requests("api", "12", 1));
    EXPECT_NE(&registry.redis("main", 2).own, &registry.redis("main", 3).own);
}

TEST(StatisticsRegistry, HasRoomForManyPlansAndWorkersInALargeZone) {
    AlignedMemory memory(std::size_t{512} << 10U);
    const StatisticsRegistry registry(memory.bytes());
    for (std::size_t worker = 0; worker < 32; ++worker) {
        for (int redis = 0; redis < 5; ++redis) {
            registry.redis(std::to_string(redis), worker);
        }
        for (int plan = 0; plan < 40; ++plan) {
            registry.requests("api", std::to_string(plan), worker);
        }
    }
    EXPECT_NE(&registry.requests("api", "39", 30), &registry.requests("api", "39", 31));
    EXPECT_NE(&registry.redis("4", 30).own, &registry.redis("4", 31).own);
    for (int i = 0; i < 450; ++i) {
        registry.requests("api", std::to_string(i), 0);
    }
    EXPECT_EQ(status_of(registry).requests.back().plan, "449");
    for (int i = 0; i < 20; ++i) {
        registry.redis(std::to_string(i), 0);
    }
    EXPECT_EQ(status_of(registry).redis.back().name, "19");
}

TEST(StatisticsRegistry, FillsItsMemoryAndNoMore) {
    for (std::size_t size = StatisticsRegistry::kLeastMemory; size < 4 * kSize; size += 4104) {
        AlignedMemory memory(size + 64);
        const auto bytes = memory.bytes();
        const StatisticsRegistry registry(bytes.first(size));
        constexpr std::size_t kWorker = 3;
        for (int i = 0; i < 1000; ++i) {
            registry.requests("api", std::to_string(i), kWorker).note(Verdict::kUnavailable, true);
            registry.redis(std::to_string(i), kWorker).own["owed_units.settled"].add();
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
    AlignedMemory memory(kSize);
    EXPECT_THROW(StatisticsRegistry(memory.bytes().first(StatisticsRegistry::kLeastMemory - 1)),
                 std::length_error);
}

}  // namespace
}  // namespace tollgate
