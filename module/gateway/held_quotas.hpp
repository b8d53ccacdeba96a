#pragma once

#include <cstdint>
#include <span>

#include "module/gateway/settings.hpp"
#include "module/gateway/zone.hpp"
#include "module/quota/table_quota.hpp"
#include "module/store/key_cache.hpp"

namespace tollgate::gateway {

/// The quotas of a record's id that have a lease, owed units or a report, in the tables of the
/// Redis with this name_hash. Settlement takes the id from the record, so the record must stay in
/// the zone until they are settled. Throws std::bad_alloc.
Quotas held_quotas(std::span<const ServedTable> tables, const LockedZone& zone, std::uint32_t redis,
                   const KeyCache::Found& found);

}  // namespace tollgate::gateway
