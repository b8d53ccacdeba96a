#include "module/http/worker.hpp"

#include <algorithm>
#include <string>
#include <type_traits>

#include "module/http/redis/cluster_client.hpp"
#include "module/http/redis/master_client.hpp"
#include "module/http/shared_memory.hpp"

namespace tollgate::http {

namespace {

/// The statistics of each plan of the first table, then those of requests without a plan.
std::vector<RequestStatistics*> request_statistics(SharedMemory& memory, const TableSetConf& set,
                                                   std::size_t worker) {
    const auto tables = set.joined_names();
    std::vector<RequestStatistics*> found;
    // There may be hundreds of plans: each is found under a lock of its own.
    const auto find = [&](std::string_view plan) {
        const LockedNode node(memory.zone());
        found.push_back(&memory.statistics().requests(tables, plan, worker));
    };
    for (const Plan& plan : set.tables.front()->plans) {
        find(plan.name);
    }
    find("");
    return found;
}

std::vector<ServedTable> served_tables(const MainConf& conf) {
    std::vector<ServedTable> served;
    for (const auto& table : conf.tables) {
        served.emplace_back(&table->table, table->redis->settings.name_hash);
    }
    return served;
}

std::vector<engine::RedisName> redis_names(const MainConf& conf) {
    std::vector<engine::RedisName> names;
    for (const auto& redis : conf.redis) {
        names.push_back({redis->settings.name_hash, redis->link.name});
    }
    return names;
}

}  // namespace

Worker::Worker(const MainConf& conf, SharedMemory& memory, TlsSessionZone* sessions, ngx_log_t* log)
    : zone_(memory.zone()),
      log_(log),
      events_(log),
      hour_(conf, memory, {clock_, events_, log_, process_}),
      served_(served_tables(conf)),
      place_(zone_, memory.statistics(), redis_names(conf), served_,
             {clock_, events_, log_, process_}),
      admin_tasks_(log),
      shutdown_([this] { shut_down(); }, log) {
    const StatisticsRegistry registry = memory.statistics();
    const auto now = std::chrono::floor<std::chrono::seconds>(node_time());
    registry.node().started.replace(0, now.time_since_epoch().count());
    memory.start_worker(process_.number());
    const Environment environment{clock_, events_, log_, process_};
    for (const auto& redis : conf.redis) {
        const RedisCounts counts = [&] {
            const LockedNode node(zone_);
            return registry.redis(redis->link.name, place_.number());
        }();
        counts.workers.start_worker(process_.number(), process_.process());
        const auto make = [&]<typename Client>(std::type_identity<Client>) {
            return std::make_unique<Client>(*redis, served_, zone_, sessions, counts, environment,
                                            log);
        };
        if (redis->settings.is_cluster) {
            clients_.push_back(make(std::type_identity<ClusterClient>()));
        } else {
            clients_.push_back(make(std::type_identity<MasterClient>()));
        }
    }
    place_.on_forgotten_flights([this] {
        for (const auto& client : clients_) {
            client->engine().flights().return_idle();
        }
    });
    for (std::size_t i = 0; i < conf.sets.size(); ++i) {
        const TableSetConf& set = *conf.sets[i];
        const auto redis = std::ranges::find(conf.redis, set.redis,
                                             [](const auto& candidate) { return candidate.get(); });
        RedisClient& client = *clients_[static_cast<std::size_t>(redis - conf.redis.begin())];
        set_clients_.push_back(&client);
        sets_.push_back(
            std::make_unique<engine::TableSet>(set.tables, set.ban, client.context(),
                                               request_statistics(memory, set, process_.number())));
    }
}

Worker::~Worker() {
    zone_.workers().erase(process_.number(), process_.process());
}

/// The calls are written now: a posted event runs only after the next event, and timers run before.
void Worker::shut_down() noexcept {
    for (const auto& client : clients_) {
        client->engine().shut_down();
        client->poll();
    }
    admin_tasks_.shut_down();
}

}  // namespace tollgate::http
