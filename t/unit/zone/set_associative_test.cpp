#include "module/zone/set_associative.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <memory>
#include <random>
#include <vector>

namespace tollgate {
namespace {

using namespace std::chrono_literals;

/// A key that is its own hash. `twin` distinguishes keys with the same hash.
struct TestKey {
    std::uint64_t value;
    std::uint32_t twin = 0;
    std::uint64_t hash() const { return value; }
    bool operator==(const TestKey&) const = default;
};

struct TestEntry {
    using Key = TestKey;
    TestEntry(const Key& whose, std::uint64_t value) : key(whose), content(value) {}
    bool is(const Key& other) const { return key == other; }

    Key key;
    std::uint64_t content;
};

using Table = SetAssociative<TestEntry>;

struct Memory {
    explicit Memory(std::size_t sets)
        : size(Table::memory_for(sets)), bytes(std::make_unique<std::byte[]>(size)) {}
    std::span<std::byte> span() const { return {bytes.get(), size}; }

    std::size_t size;
    std::unique_ptr<std::byte[]> bytes;  // zeroed: an empty table
};

class SetAssociativeTest : public testing::Test {
  protected:
    void put(const TestKey& key, std::uint64_t content, std::chrono::milliseconds now) {
        table_.put(key, now, key, content);
    }
    void put(std::uint64_t n, std::chrono::milliseconds now) { put({n}, n, now); }
    bool has(std::uint64_t n) const { return static_cast<bool>(table_.find({n})); }

    Memory memory_{2};  // every key may be in every place
    Table table_{memory_.span()};
};

TEST_F(SetAssociativeTest, FindsWhatWasPut) {
    EXPECT_FALSE(has(1));
    put(1, 0s);
    ASSERT_TRUE(has(1));
    EXPECT_EQ(table_.at(table_.find({1})).content, 1);
    put({1}, 7, 0s);
    EXPECT_EQ(table_.at(table_.find({1})).content, 7);
    EXPECT_EQ(table_.occupancy().used, 1);
    table_.remove({1});
    EXPECT_FALSE(has(1));
    EXPECT_EQ(table_.occupancy().used, 0);
}

TEST_F(SetAssociativeTest, TellsKeysOfOneHashApart) {
    put({5, 1}, 10, 0s);
    put({5, 2}, 20, 0s);
    EXPECT_EQ(table_.at(table_.find({5, 1})).content, 10);
    EXPECT_EQ(table_.at(table_.find({5, 2})).content, 20);
    EXPECT_FALSE(table_.find({5, 3}));
    EXPECT_FALSE(has(0)) << "the tag 0 is that of free places";
}

TEST_F(SetAssociativeTest, FillsBothSetsBeforeAnEviction) {
    for (std::uint64_t n = 1; n <= 16; ++n) {
        put(n, std::chrono::seconds(n));
    }
    EXPECT_EQ(table_.occupancy().size, 16);
    EXPECT_EQ(table_.occupancy().used, 16);
    EXPECT_EQ(table_.occupancy().evicted, 0);
    for (std::uint64_t n = 1; n <= 16; ++n) {
        EXPECT_TRUE(has(n));
    }
}

TEST_F(SetAssociativeTest, TheLeastRecentlyUsedIsEvicted) {
    for (std::uint64_t n = 1; n <= 16; ++n) {
        put(n, std::chrono::seconds(n));
    }
    table_.touch(table_.find({1}), 17s);
    put(2, 18s);
    put(17, 19s);
    EXPECT_FALSE(has(3));
    put(18, 20s);
    EXPECT_FALSE(has(4));
    EXPECT_TRUE(has(1));
    EXPECT_TRUE(has(2));
    EXPECT_EQ(table_.occupancy().used, 16);
    EXPECT_EQ(table_.occupancy().evicted, 2);
}

TEST_F(SetAssociativeTest, ItsClockMayWrapAround) {
    const std::chrono::milliseconds wrap(std::int64_t{64} << 32U);
    for (std::uint64_t n = 1; n <= 16; ++n) {
        put(n, wrap + std::chrono::seconds(n) - 8s);
    }
    put(17, wrap + 20s);
    EXPECT_FALSE(has(1));
    EXPECT_TRUE(has(16));
}

TEST_F(SetAssociativeTest, AnotherWorkersClockMayBeAhead) {
    put(1, 101s);
    for (std::uint64_t n = 2; n <= 16; ++n) {
        put(n, std::chrono::seconds(n));
    }
    put(17, 100s);
    EXPECT_TRUE(has(1));
    EXPECT_FALSE(has(2));
}

TEST_F(SetAssociativeTest, APlaceThatNowHasAnotherKeyIsNotUsed) {
    put(1, 1s);
    const TablePosition place = table_.find({1});
    for (std::uint64_t n = 2; n <= 17; ++n) {
        put(n, std::chrono::seconds(n));
    }
    ASSERT_FALSE(has(1));
    table_.put_at(place, {1}, 18s, TestKey{1}, 1U);
    EXPECT_TRUE(has(1));
    EXPECT_FALSE(has(2));
    EXPECT_TRUE(has(17)) << "which took the place";
    table_.put_at({.set = 1000, .way = 1000}, {1}, 18s, TestKey{1}, 2U);
    EXPECT_EQ(table_.at(table_.find({1})).content, 2);
}

TEST_F(SetAssociativeTest, FindsAgainWhatMayHaveMoved) {
    put(1, 1s);
    const TablePosition place = table_.find({1});
    EXPECT_EQ(table_.at(table_.find_again(place, {1})).content, 1);
    EXPECT_EQ(table_.at(table_.find_again({}, {1})).content, 1);
    EXPECT_EQ(table_.at(table_.find_again({.set = 1000, .way = 1000}, {1})).content, 1);
    for (std::uint64_t n = 2; n <= 17; ++n) {
        put(n, std::chrono::seconds(n));
    }
    EXPECT_FALSE(table_.find_again(place, {1})) << "17 took its place";
    put(1, 18s);
    EXPECT_EQ(table_.at(table_.find_again(place, {1})).content, 1);
    table_.remove({1});
    EXPECT_FALSE(table_.find_again(table_.find({3}), {1}));
}

TEST(SetAssociative, OneSetIsEnough) {
    const Memory memory(1);
    const Table table(memory.span());
    for (std::uint64_t n = 1; n <= 9; ++n) {
        table.put({n << 40U}, std::chrono::seconds(n), TestKey{n << 40U}, n);
    }
    EXPECT_FALSE(table.find({1ULL << 40U}));
    EXPECT_TRUE(table.find({2ULL << 40U}));
    EXPECT_EQ(table.occupancy().size, 8);
    EXPECT_EQ(table.occupancy().used, 8);
    EXPECT_THROW(Table(memory.span().first(memory.size - 1)), std::length_error);
}

/// Fills a table with a million random keys, to `load`, and checks that they are found.
Occupancy fill(double load) {
    constexpr std::uint64_t kKeys = 1'000'000;
    const Memory memory(static_cast<std::size_t>(kKeys / load / 8));
    const Table table(memory.span());
    std::mt19937_64 random(1);
    for (std::uint64_t n = 0; n < kKeys; ++n) {
        const std::uint64_t value = random();
        table.put({value}, 0s, TestKey{value}, n);
    }
    std::mt19937_64 again(1);
    std::uint64_t found = 0;
    for (std::uint64_t n = 0; n < kKeys; ++n) {
        const TablePosition place = table.find({again()});
        found += place && table.at(place).content == n ? 1 : 0;
    }
    EXPECT_EQ(found + table.occupancy().evicted, kKeys);
    EXPECT_EQ(found, table.occupancy().used);
    return table.occupancy();
}

/// The content is the time when it is due, in seconds; 0: it is not held.
struct HeldEntry : TestEntry {
    using TestEntry::TestEntry;
    bool is_held() const { return content != 0; }
    std::chrono::milliseconds due_at() const { return std::chrono::seconds(content); }
};

using HeldTable = SetAssociative<HeldEntry>;

class HeldEntries : public testing::Test {
  protected:
    void put(std::uint64_t n, std::uint64_t due) const {
        table_.put({n << 40U}, 100s, TestKey{n << 40U}, due);
    }
    /// The sum of what a pass visits.
    std::uint64_t pass(std::chrono::milliseconds now, bool is_full = false) const {
        std::uint64_t sum = 0;
        const auto visit = [&](const HeldEntry& entry) {
            sum += entry.content;
            return HeldTable::Visited{true, entry.due_at()};
        };
        EXPECT_EQ(table_.visit_held(0, 100, {now, is_full}, visit), 0);
        return sum;
    }

    std::vector<std::uint64_t> memory_ =
        std::vector<std::uint64_t>(HeldTable::memory_for(1) / 8);  // one set
    HeldTable table_{std::as_writable_bytes(std::span(memory_))};
};

TEST_F(HeldEntries, APassVisitsThoseOfASetWhereOneIsDue) {
    EXPECT_EQ(pass(100s), 0);
    put(1, 102);
    put(2, 103);
    EXPECT_EQ(pass(101s), 0);
    EXPECT_EQ(pass(101s, true), 205);
    EXPECT_EQ(pass(101s), 0);
    EXPECT_EQ(pass(102s), 205);
    EXPECT_EQ(pass(102s), 205) << "one is still due";
}

TEST_F(HeldEntries, ASavedEntryMayBeDueEarlier) {
    put(1, 102);
    put(2, 101);
    put(3, 103);
    EXPECT_EQ(pass(100s), 0);
    EXPECT_EQ(pass(101s), 306);
    put(2, 104);
    EXPECT_EQ(pass(101s), 309) << "the set may still have one that is due";
    EXPECT_EQ(pass(101s), 0);
    put(1, 1);
    EXPECT_EQ(pass(101s), 208);
}

TEST_F(HeldEntries, OneThatIsHeldNoMoreIsNotVisited) {
    put(1, 101);
    put(1, 0);
    EXPECT_EQ(pass(102s, true), 0);
    put(1, 103);
    EXPECT_EQ(pass(102s), 0);
    EXPECT_EQ(pass(103s), 103);
}

TEST_F(HeldEntries, OneThatIsDueMuchLaterIsVisitedAllTheSame) {
    put(1, 1000);
    EXPECT_EQ(pass(100s, true), 1000);
    EXPECT_EQ(pass(100s + HeldSets::kMostAhead - 100ms), 0);
    EXPECT_EQ(pass(100s + HeldSets::kMostAhead), 1000);
}

// The caller holds a lock during each search, and a table may be large.
TEST(SetAssociative, SearchesItsHeldEntriesInSteps) {
    constexpr std::size_t kSets = 3 * std::size_t{HeldSets::kSetsSearched};
    std::vector<std::uint64_t> memory(HeldTable::memory_for(kSets) / 8);
    const HeldTable table(std::as_writable_bytes(std::span(memory)));
    std::mt19937_64 random(1);
    std::uint64_t sum = 0;
    for (std::uint64_t n = 1; n <= 5; ++n) {
        const std::uint64_t value = random();
        table.put({value}, 0s, TestKey{value}, n);
        sum += n;
    }
    std::uint32_t set = 0;
    int steps = 0;
    do {
        const std::uint32_t next = table.visit_held(set, 100, {}, [&](const HeldEntry& entry) {
            sum -= entry.content;
            return HeldTable::Visited{true, 0s};
        });
        EXPECT_LE(next, set + HeldSets::kSetsSearched);
        set = next;
        ++steps;
    } while (set != 0);
    EXPECT_EQ(sum, 0) << "each is visited once";
    EXPECT_EQ(steps, 3);
}

TEST(SetAssociative, NearlyAllPlacesFill) {
    EXPECT_EQ(fill(0.83).evicted, 0);
    EXPECT_LT(fill(0.92).evicted, 10);
    const Occupancy full = fill(1.25);
    EXPECT_GT(full.used, full.size * 99 / 100);
}

TEST(SetAssociative, AKilledWorkerLeavesNoEntryHalfWritten) {
    const std::size_t size = Table::memory_for(2);
    // The table, followed by the number of entries that the worker has written.
    void* shared = mmap(nullptr, size + sizeof(std::atomic<std::uint64_t>), PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(shared, MAP_FAILED);
    const Table table({static_cast<std::byte*>(shared), size});
    auto& written = *new (static_cast<std::byte*>(shared) + size) std::atomic<std::uint64_t>(0);
    for (std::uint64_t round = 0; round < 50; ++round) {
        written = 0;
        const pid_t worker = fork();
        ASSERT_GE(worker, 0);
        if (worker == 0) {
            for (std::uint64_t n = 0;; ++n) {
                // Twins have the same tag, so the tag can't detect an entry that mixes two of them.
                const TestKey key{n % 32 / 4, static_cast<std::uint32_t>(n % 4)};
                table.put(key, std::chrono::milliseconds(n), key, key.value << 8U | key.twin);
                written = n + 1;
            }
        }
        while (written < 100 + 37 * round) {
            ASSERT_EQ(waitpid(worker, nullptr, WNOHANG), 0) << "the worker has ended";
        }
        kill(worker, SIGKILL);
        waitpid(worker, nullptr, 0);
        int found = 0;
        for (std::uint32_t n = 0; n < 32; ++n) {
            const TestKey key{n / 4, n % 4};
            if (const TablePosition place = table.find(key)) {
                ++found;
                ASSERT_EQ(table.at(place).content, key.value << 8U | key.twin);
            }
        }
        EXPECT_GT(found, 0);
    }
    munmap(shared, size + sizeof(std::atomic<std::uint64_t>));
}

}  // namespace
}  // namespace tollgate
