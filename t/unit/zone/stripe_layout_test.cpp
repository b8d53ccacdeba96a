#include "module/zone/stripe_layout.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <vector>

namespace tollgate {
namespace {

using namespace std::chrono_literals;

struct FreeDeleter {
    // NOLINTNEXTLINE(cppcoreguidelines-no-malloc,cppcoreguidelines-owning-memory)
    void operator()(std::byte* memory) const { std::free(memory); }
};

/// Zeroed memory, aligned like nginx's slabs.
class StripeMemory {
  public:
    explicit StripeMemory(std::size_t size)
        // NOLINTNEXTLINE(cppcoreguidelines-owning-memory)
        : size_(size), bytes_(static_cast<std::byte*>(std::aligned_alloc(64, size))) {
        std::fill_n(bytes_.get(), size, std::byte{0});
    }
    std::span<std::byte> span() const { return {bytes_.get(), size_}; }

  private:
    std::size_t size_;
    std::unique_ptr<std::byte, FreeDeleter> bytes_;
};

/// The part of a zone of this size that nginx leaves usable: it keeps 24 bytes per page, and a few
/// pages.
constexpr std::size_t usable(std::size_t size) {
    return (size / 4120 - 8) * 4096;
}

KeyCache::Key key(std::mt19937_64& random) {
    KeyCache::Key key{1, {}};
    for (std::size_t i = 0; i < 4; ++i) {
        const std::uint64_t part = random();
        std::memcpy(key.digest.data() + 8 * i, &part, sizeof(part));
    }
    return key;
}

KeyRecord record(const std::string& name) {
    return {.id = "key_0123456789AB",
            .name = name,
            .plan = "pro",
            .limits = "",
            .expires = std::nullopt,
            .active = true};
}

const TableQuota kQuota{.table = "api",
                        .rates = {{60, 60s}, {1000, 86400s}},
                        .sliding = false,
                        .lease_time = kLeaseTime,
                        .policies = {},
                        .table_id = 7};

QuotaCache::Key quota_key(std::mt19937_64& random) {
    static std::string id;  // until the next call
    id = "id_" + std::to_string(random());
    return {{id}, id_hash(id), 1, kQuota, 0};
}

TEST(StripeLayout, PartsLieApartAndWithin) {
    for (const std::size_t size :
         {32UL << 10U, 96UL << 10U, 100'001UL, 1UL << 20U, 8UL << 20U, 1UL << 30U, 1UL << 40U}) {
        const StripeLayout layout = divide_stripe(size);
        std::vector<StripeLayout::Part> parts{
            layout.small_keys,   layout.large_keys, layout.unknown_keys, layout.small_quotas,
            layout.large_quotas, layout.reports,    layout.addresses,    layout.bans,
            layout.slices,       layout.flights};
        std::ranges::sort(parts, {}, &StripeLayout::Part::offset);
        std::size_t end = 0;
        for (const StripeLayout::Part& part : parts) {
            EXPECT_EQ(part.offset % 64, 0);
            EXPECT_GT(part.size, 0);
            EXPECT_EQ(part.offset, end);
            end = part.offset + part.size;
        }
        EXPECT_LE(end, size);
        EXPECT_GT(end + 64, size) << "nothing is left over";
    }
    EXPECT_THROW(divide_stripe(0), std::length_error);
    EXPECT_THROW(divide_stripe(8 << 10U), std::length_error);
}

TEST(StripesOfZone, AreAPowerOfTwo) {
    EXPECT_EQ(stripes_of_zone(128 << 10U), 1);
    EXPECT_EQ(stripes_of_zone(1 << 20U), 2);
    EXPECT_EQ(stripes_of_zone(7 << 20U), 8);
    EXPECT_EQ(stripes_of_zone(8 << 20U), 16);
    EXPECT_EQ(stripes_of_zone(1 << 30U), 16);
}

TEST(StripeTables, TheSmallestStripeWorks) {
    const StripeMemory memory(usable(128 << 10U));
    StripeTables tables(memory.span());
    std::mt19937_64 random(1);
    for (int i = 0; i < 200; ++i) {
        tables.keys.put(key(random), record("a"), 1s);
        tables.quotas.save(quota_key(random), {}, 1s);
    }
    EXPECT_EQ(tables.keys.small().evicted, 0);
    EXPECT_EQ(tables.keys.small().used, 200);
    EXPECT_EQ(tables.quotas.small().used, 200);
    EXPECT_GE(tables.keys.large().size, 16);
    EXPECT_GE(tables.keys.unknown().size, 16);
    EXPECT_GE(tables.quotas.large().size, 16);
    EXPECT_GE(tables.addresses.occupancy().size, 16);
}

TEST(StripeTables, NineHundredThousandKeysFit256MiB) {
    constexpr int kKeys = 900'000;
    const StripeMemory memory(usable(256UL << 20U));
    StripeTables tables(memory.span());
    EXPECT_LT(kKeys / static_cast<double>(tables.keys.small().size), 0.96);
    EXPECT_LT(kKeys / static_cast<double>(tables.quotas.small().size), 0.96);
    std::mt19937_64 random(1);
    const KeyRecord shop = record("a shop's key");
    QuotaState state;
    for (int i = 0; i < kKeys; ++i) {
        tables.keys.put(key(random), shop, 1s);
        state.windows[0].counted.count = i;
        tables.quotas.save(quota_key(random), state, 1s);
    }
    // At this load, fewer than one in 5,000 entries are evicted.
    EXPECT_LE(tables.keys.small().evicted, 200);
    EXPECT_LE(tables.quotas.small().evicted, 200);

    const auto evicted = tables.keys.small().evicted + tables.quotas.small().evicted;

    // Another process maps it elsewhere.
    const StripeMemory elsewhere(memory.span().size());
    std::ranges::copy(memory.span(), elsewhere.span().begin());
    std::ranges::fill(memory.span(), std::byte{0xff});
    const StripeTables mapped(elsewhere.span());
    std::mt19937_64 again(1);
    KeyCache::Found found;
    std::uint64_t missing = 0;
    for (int i = 0; i < kKeys; ++i) {
        missing += mapped.keys.find(key(again), 1s, found) && found.record == shop ? 0 : 1;
        missing += mapped.quotas.load(quota_key(again)).windows[0].counted.count == i ? 0 : 1;
    }
    EXPECT_EQ(missing, evicted);
}

/// Uses all tables of a stripe with a few hundred keys. Returns the number of entries found.
int use(std::span<std::byte> memory, unsigned seed) {
    StripeTables tables(memory);
    std::mt19937_64 random(1);
    std::minstd_rand choice(seed);
    KeyCache::Found found;
    int known = 0;
    for (int i = 0; i < 400; ++i) {
        const KeyCache::Key who = key(random);
        QuotaCache::Key whose = quota_key(random);
        whose.is_in_small = choice() % 4 != 0;
        const SteadyTime now = std::chrono::seconds(choice());
        known += tables.keys.find(who, now, found) ? 1 : 0;
        EXPECT_LE(found.record.id.size() + found.record.name.size(), 512);
        if (choice() % 4 == 0) {
            tables.keys.put_unknown(who, now);
        } else {
            tables.keys.put(who, record(std::string(choice() % 60, 'x')), now);
        }
        QuotaState state;
        const TablePosition place = tables.quotas.load(whose, state);
        known += place ? 1 : 0;
        tables.quotas.save(place, whose, state, now);
        // The place may be one of the other table.
        whose.is_in_small = choice() % 4 != 0;
        tables.quotas.load(whose, state, place);
        tables.addresses.charge({whose.table, {4, {}}}, kQuota.rates, 1, Instant(now));
    }
    return known;
}

TEST(StripeTables, GarbageDoesNoHarm) {
    const StripeMemory memory(96 << 10U);
    std::minstd_rand random(1);
    for (unsigned round = 0; round < 20; ++round) {
        for (std::byte& byte : memory.span()) {
            byte = static_cast<std::byte>(random() >> 8U);
        }
        use(memory.span(), round);
        // Entries that are found now have some wrong bytes, for example the length of a text.
        for (std::byte& byte : memory.span()) {
            byte = random() % 64 == 0 ? static_cast<std::byte>(random() >> 8U) : byte;
        }
        // Quotas that seem to be held because of garbage keep their places.
        EXPECT_GT(use(memory.span(), round), 10);
    }
}

}  // namespace
}  // namespace tollgate
