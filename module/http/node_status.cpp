#include "module/http/node_status.hpp"

#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

#include "module/http/nginx_environment.hpp"
#include "module/report/version.hpp"

namespace tollgate::http {

namespace {

std::size_t number_of_workers() {
    const auto* core = reinterpret_cast<const ngx_core_conf_t*>(
        ngx_get_conf(ngx_cycle->conf_ctx, ngx_core_module));
    return ngx_process == NGX_PROCESS_SINGLE ? 1 : static_cast<std::size_t>(core->worker_processes);
}

/// The requests of all ids that hold places in this Redis.
std::uint64_t in_flight(Zone& zone, std::uint32_t redis) {
    std::int64_t requests = 0;
    for (std::size_t i = 0; i < zone.stripes(); ++i) {
        const LockedStripe stripe(zone, StripeNumber{i});
        stripe.flights().for_each([&](const Flight& flight) {
            requests += flight.name().key.redis == redis ? flight.requests() : 0;
        });
    }
    return static_cast<std::uint64_t>(requests);
}

/// Adds what the configuration says of a Redis.
void describe(Status::Redis& redis, const RedisConf& conf, Zone& zone) {
    redis.is_configured = true;
    redis.on_failure = name_of(conf.settings.on_failure);
    redis.in_flight += in_flight(zone, conf.settings.name_hash);
    redis.nodes = zone.redis(conf.settings.name_hash).nodes.value();
    if (conf.settings.is_cluster) {
        redis.kind = "cluster";
    } else if (const auto* const group = conf.sentinel.group.get()) {
        redis.kind = "sentinel";
        const LockedNode node(zone);
        if (const auto master =
                node.sentinel_master(conf.settings.name_hash).address(group->hash)) {
            redis.master = tollgate::redis::to_text(*master);
        }
    }
}

/// The unit of each table of the requests. Those of tables that were removed have none.
void add_units(std::vector<Status::Requests>& requests, const MainConf& conf) {
    for (const auto& set : conf.sets) {
        const std::string names = set->joined_names();
        for (Status::Requests& one : requests) {
            if (one.tables == names) {
                one.unit = set->joined_units();
            }
        }
    }
}

}  // namespace

Status node_status(const MainConf& conf, SharedMemory& memory) {
    Status status{.version = kVersion,
                  .now = std::chrono::floor<std::chrono::seconds>(node_time()),
                  .workers = number_of_workers(),
                  .zone_size = conf.zone_size,
                  .node = {},
                  .requests = {},
                  .redis = {}};
    memory.statistics().copy_to(status);
    add_units(status.requests, conf);
    for (const auto& redis : conf.redis) {
        auto found = std::ranges::find(status.redis, redis->link.name, &Status::Redis::name);
        if (found == status.redis.end()) {
            // The zone has no room for its counts.
            found =
                std::ranges::find(status.redis, StatisticsRegistry::kOthers, &Status::Redis::name);
        }
        if (found != status.redis.end()) {
            describe(*found, *redis, memory.zone());
        }
    }
    status.stores = memory.stores();
    status.lock = memory.holds();
    return status;
}

}  // namespace tollgate::http
