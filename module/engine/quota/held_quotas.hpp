#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "module/engine/settings.hpp"
#include "module/plan/table_quota.hpp"
#include "module/zone/key_cache.hpp"
#include "module/zone/zone.hpp"

namespace tollgate::engine {

/// The quotas of a record's id that hold something (see is_held), in the tables of the Redis with
/// this name_hash, by the plan of the record. `stripe` is that of the id. Throws std::bad_alloc.
Quotas held_quotas(std::span<const ServedTable> tables, const LockedStripe& stripe,
                   std::uint32_t redis, const KeyCache::Found& found);

/// The quota of a record in a table that is counted as this one, with the limits of the record's
/// plan: a node stores none. Nothing if the plan has changed. Throws std::bad_alloc.
std::optional<TableQuota> with_limits(const PlanTable& table, const KeyRecord& record,
                                      const TableQuota& counted);

/// Whether the id of this record may have quotas that hold something, also in windows that its plan
/// or the configuration does not have any more. Settlement takes the id from the record, so the
/// record must stay in the zone until they are settled. `stripe` is locked, and may be that of
/// another id. Throws std::bad_alloc.
bool may_hold_quotas(std::span<const ServedTable> tables, Zone& zone, const LockedStripe& stripe,
                     std::uint32_t redis, const KeyCache::Found& found);

/// Puts a record into the stripe of its key. It evicts no record whose id may hold quotas, in the
/// tables of any Redis. Throws as KeyCache::put.
void put_record(std::span<const ServedTable> tables, Zone& zone, const LockedStripe& stripe,
                const KeyCache::Key& key, const KeyRecord& record, SteadyTime checked);

}  // namespace tollgate::engine
