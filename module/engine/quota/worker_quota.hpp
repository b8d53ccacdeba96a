#pragma once

#include <cstdint>
#include <memory>

#include "module/engine/quota/acquire_waiter.hpp"
#include "module/key/key_record.hpp"
#include "module/plan/table_quota.hpp"
#include "module/quota/recent_refusal.hpp"
#include "module/quota/slice.hpp"

namespace tollgate::engine {

/// The quotas of one key, as a worker keeps them beside what it knows of the key: whose they are,
/// and what lets the worker decide requests in its own memory.
struct WorkerQuota {
    /// Has the id and the group, whose quotas they are. Must outlive it.
    const KeyRecord* record = nullptr;
    std::shared_ptr<const Quotas> quotas;
    std::uint64_t api_key = 0;    ///< KeyCache::Key::hash of the key
    std::uint64_t group_key = 0;  ///< KeyCache::Key::hash of the group's record; 0: without a group
    IdHash id_hash{};             ///< identifies the counters of the id
    IdHash group_hash{};          ///< identifies the counters of the group, if `group_key` is not 0
    TablePosition place{};        ///< see AcquireRequest::place
    bool is_watched = false;      ///< see Slices
    bool is_plain = true;         ///< as the quota was last seen: see tollgate::is_plain
    Slice slice{};
    RecentRefusal refusal{};

    /// A request for these quotas, which demands nothing and knows no place. It must not outlive
    /// the record.
    AcquireRequest request() const {
        AcquireRequest request;
        request.id = record->id;
        request.id_hash = id_hash;
        request.api_key = api_key;
        request.quotas = quotas;
        request.group = record->group;
        request.group_hash = group_hash;
        request.group_key = group_key;
        return request;
    }
};

}  // namespace tollgate::engine
