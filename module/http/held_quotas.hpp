#pragma once

#include <cstdint>

#include "module/http/config/main_conf.hpp"
#include "module/http/zone.hpp"
#include "module/quota/table_quota.hpp"
#include "module/store/key_cache.hpp"

namespace tollgate::http {

/// The quotas of a record's id, in the tables of the Redis with this name_hash, that hold a lease
/// or units that Redis does not know. Such units can be settled only while the zone has the record,
/// from which Settlement learns the id. Throws std::bad_alloc.
Quotas held_quotas(const MainConf& main, const LockedZone& zone, std::uint32_t redis,
                   const KeyCache::Found& found);

}  // namespace tollgate::http
