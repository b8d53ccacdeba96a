#include "module/http/request/request_statistics.hpp"

#include <string>

#include "module/http/clock.hpp"
#include "module/http/decision.hpp"
#include "module/http/zone.hpp"
#include "module/store/statistics_registry.hpp"

namespace tollgate::http {

namespace {

std::string joined(const std::vector<std::string>& names) {
    std::string text;
    for (const auto& name : names) {
        text.append(text.empty() ? "" : "+").append(name);
    }
    return text;
}

void find_requests(const StatisticsRegistry& registry, TableSet& set) {
    const auto tables = joined(set.names);
    set.statistics.clear();
    for (const Plan& plan : set.tables.front()->plans) {
        set.statistics.push_back(&registry.requests(tables, plan.name));
    }
    set.statistics.push_back(&registry.requests(tables, ""));
}

}  // namespace

void find_statistics(MainConf& conf) {
    with_statistics(conf, [&](const StatisticsRegistry& registry) {
        const auto now = std::chrono::floor<std::chrono::seconds>(node_time());
        registry.node().started.replace(0, now.time_since_epoch().count());
        for (const auto& redis : conf.redis) {
            redis->statistics = &registry.redis(redis->endpoint.name);
            redis->statistics->start_worker(ngx_worker);
        }
        for (const auto& set : conf.sets) {
            find_requests(registry, *set);
        }
    });
}

ngx_int_t count_request(ngx_http_request_t* r) noexcept {
    const Decision* decision = r == r->main ? Decision::find(r) : nullptr;
    if (decision == nullptr) {
        return NGX_OK;
    }
    const TableSet& set = *decision->conf().tables;
    if (RequestStatistics* statistics = set.statistics_of(decision->key().plan)) {
        statistics->note(decision->verdict(), decision->conf().dry_run != 0);
    }
    return NGX_OK;
}

}  // namespace tollgate::http
