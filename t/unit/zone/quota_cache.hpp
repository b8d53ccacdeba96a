#pragma once

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "module/quota/lease.hpp"
#include "module/zone/quota_cache.hpp"

namespace tollgate {

using namespace std::chrono_literals;

/// Caches of few places.
class QuotaCacheTest : public testing::Test {
  protected:
    /// The id with this number.
    static QuotaOwner owner(unsigned n) {
        static std::map<unsigned, std::string> names;
        return {names.try_emplace(n, "id" + std::to_string(n)).first->second};
    }
    static QuotaCache::Key key(unsigned n, const TableQuota& quota, std::uint32_t redis = 1) {
        return key(owner(n), quota, redis, 1000 + n);
    }
    static QuotaCache::Key key(const QuotaOwner& whose, const TableQuota& quota,
                               std::uint32_t redis = 1, std::uint64_t api_key = 5) {
        return {whose, id_hash(whose.id, whose.group), redis, quota, api_key};
    }

    static TableQuota quota(std::vector<Rate> rates, std::uint32_t table = 7,
                            bool sliding = false) {
        return {.table = "api",
                .rates = std::move(rates),
                .sliding = sliding,
                .lease_time = kLeaseTime,
                .policies = {},
                .table_id = table};
    }

    /// A state in which every field has a different value.
    static QuotaState state(std::size_t windows) {
        QuotaState state;
        for (std::size_t i = 0; i < windows; ++i) {
            const auto n = static_cast<std::int64_t>(i);
            state.windows[i] = {
                {1'800'000'000 + n, 100 + n, 200 + n}, n % 2 == 0 ? 30 : -30, 40 + n};
        }
        state.lease = 12;
        state.counted_at = Instant(1'800'000'000'123ms);
        state.asked = 987'654'321'012ms;
        state.lease_calls = kMostLeaseCalls;
        state.returns_until = Instant(1'800'000'002'500ms);
        state.arrivals = {987'654'321'987ms, 50.25};
        state.owes_refund = true;
        return state;
    }

    alignas(64) std::array<std::byte, QuotaCache::SmallTable::memory_for(2)> small_{};
    alignas(64) std::array<std::byte, QuotaCache::LargeTable::memory_for(2)> large_{};
    alignas(64) std::array<std::byte, QuotaCache::ReportTable::memory_for(2)> reports_{};
    QuotaCache cache_{small_, large_, reports_};
    const TableQuota two_ = quota({{60, 60s}, {1000, 86400s}});
    const TableQuota four_ = quota({{1, 1s}, {60, 60s}, {100, 3600s}, {1000, 86400s}});
};

}  // namespace tollgate
