#include "module/http/worker.hpp"

#include <algorithm>
#include <string>
#include <type_traits>

#include "module/http/cluster_client.hpp"
#include "module/http/redis_client.hpp"
#include "module/http/request/log_redaction.hpp"
#include "module/http/shared_memory.hpp"

namespace tollgate::http {

namespace {

std::string joined(const std::vector<std::string>& names) {
    std::string text;
    for (const auto& name : names) {
        text.append(text.empty() ? "" : "+").append(name);
    }
    return text;
}

/// The statistics of each plan of the first table, then those of requests without a plan.
std::vector<RequestStatistics*> request_statistics(const StatisticsRegistry& registry,
                                                   const TableSetConf& set) {
    const auto tables = joined(set.names);
    std::vector<RequestStatistics*> found;
    for (const Plan& plan : set.tables.front()->plans) {
        found.push_back(&registry.requests(tables, plan.name));
    }
    found.push_back(&registry.requests(tables, ""));
    return found;
}

bool serves_requests() {
    return ngx_process == NGX_PROCESS_WORKER || ngx_process == NGX_PROCESS_SINGLE;
}

}  // namespace

Worker::Worker(const MainConf& conf, SharedMemory& memory, TlsSessionZone* sessions, ngx_log_t* log)
    : memory_(memory), log_(log), events_(log) {
    for (const auto& table : conf.tables) {
        served_.push_back({&table->table, table->redis->settings.name_hash});
    }
    const StatisticsRegistry registry = memory.statistics();
    std::vector<RedisStatistics*> redis_statistics;
    std::vector<std::vector<RequestStatistics*>> set_statistics;
    {
        const gateway::LockedZone zone(memory);
        const auto now = std::chrono::floor<std::chrono::seconds>(node_time());
        registry.node().started.replace(0, now.time_since_epoch().count());
        for (const auto& redis : conf.redis) {
            redis_statistics.push_back(&registry.redis(redis->endpoint.name));
        }
        for (const auto& set : conf.sets) {
            set_statistics.push_back(request_statistics(registry, *set));
        }
    }
    memory.workers().insert(process_.number(), process_.process());
    const gateway::Environment environment{clock_, events_, log_, process_};
    for (std::size_t i = 0; i < conf.redis.size(); ++i) {
        redis_statistics[i]->start_worker(process_.number());
        const auto make = [&]<typename Client>(std::type_identity<Client>) {
            return std::make_unique<Client>(*conf.redis[i], served_, memory, sessions,
                                            *redis_statistics[i], environment, log);
        };
        if (conf.redis[i]->settings.is_cluster) {
            clients_.push_back(make(std::type_identity<ClusterClient>()));
        } else {
            clients_.push_back(make(std::type_identity<RedisClient>()));
        }
    }
    for (std::size_t i = 0; i < conf.sets.size(); ++i) {
        const TableSetConf& set = *conf.sets[i];
        const auto redis = std::ranges::find(conf.redis, set.redis,
                                             [](const auto& candidate) { return candidate.get(); });
        RedisTransport& client = *clients_[static_cast<std::size_t>(redis - conf.redis.begin())];
        set_clients_.push_back(&client);
        sets_.push_back(std::make_unique<gateway::TableSet>(set.tables, set.ban, client.engine(),
                                                            std::move(set_statistics[i])));
    }
}

Worker::~Worker() {
    memory_.workers().erase(process_.number(), process_.process());
}

ngx_int_t start_worker(ngx_cycle_t* cycle) noexcept {
    HttpBlock* block = HttpBlock::of(cycle);
    if (block == nullptr || block->conf.tables.empty() || !serves_requests()) {
        return NGX_OK;
    }
    return guarded(cycle->log, static_cast<ngx_int_t>(NGX_ERROR), [&] {
        redact_error_logs(cycle);
        block->worker = std::make_unique<Worker>(block->conf, *block->memory,
                                                 block->tls_sessions.get(), cycle->log);
        return NGX_OK;
    });
}

void stop_worker(ngx_cycle_t* cycle) noexcept {
    HttpBlock* block = HttpBlock::of(cycle);
    if (block != nullptr) {
        block->worker.reset();
        release_error_logs(cycle);
    }
}

}  // namespace tollgate::http
