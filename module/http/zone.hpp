#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "module/core/client_address.hpp"
#include "module/core/key_record.hpp"
#include "module/core/plan.hpp"
#include "module/core/window.hpp"
#include "module/http/main_conf.hpp"
#include "module/store/known_keys.hpp"
#include "module/store/statistics_registry.hpp"

namespace tollgate::http {

/// Adds the shared memory zone to the configuration. False after a message.
bool add_zone(ngx_conf_t* cf, MainConf& conf);

/// Reads `tollgate_zone SIZE`.
char* read_zone_size(ngx_conf_t* cf, ngx_command_t* command, void* conf) noexcept;

/// Takes `cost` (0: looks only) from what this address may spend on failed authentications, under
/// the zone's lock. See AddressBudgets::charge.
std::vector<WindowState> charge_address(const MainConf& conf, const PlanTable& table,
                                        const ClientAddress& address, std::int64_t cost,
                                        Instant now);

/// What Redis last said of keys, for the time that it is out of reach; see KnownKeys. A record is
/// good for an hour.
void remember_key(const MainConf& conf, const KnownKeys::Key& key, const KeyRecord& record,
                  Instant now);
void forget_key(const MainConf& conf, const KnownKeys::Key& key);
std::optional<KeyRecord> recall_key(const MainConf& conf, const KnownKeys::Key& key, Instant now);

/// The statistics; to be read with no lock.
StatisticsRegistry statistics_in(const MainConf& conf);
/// The same under the zone's lock.
void with_statistics(const MainConf& conf,
                     const std::function<void(const StatisticsRegistry&)>& use);

}  // namespace tollgate::http
