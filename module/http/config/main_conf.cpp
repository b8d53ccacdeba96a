#include "module/http/config/main_conf.hpp"

#include <algorithm>

#include "module/http/redis_client.hpp"

namespace tollgate::http {

Position Position::of(const ngx_conf_t* cf) {
    return {std::string(view(cf->conf_file->file.name)), cf->conf_file->line};
}

RedisConf::RedisConf() = default;
RedisConf::~RedisConf() = default;

MainConf::MainConf() = default;
MainConf::~MainConf() = default;

const PlanTable* TableSet::anonymous() const {
    const auto found = std::ranges::find_if(
        tables, [](const PlanTable* table) { return !table->anonymous.empty(); });
    return found == tables.end() ? nullptr : *found;
}

RequestStatistics* TableSet::statistics_of(std::string_view plan) const {
    if (statistics.empty()) {
        return nullptr;
    }
    const PlanTable& first = *tables.front();
    const Plan* found = plan.empty() ? nullptr : first.find(plan);
    return found == nullptr ? statistics.back()
                            : statistics[static_cast<std::size_t>(found - first.plans.data())];
}

MainConf& MainConf::of(ngx_conf_t* cf) {
    return *static_cast<MainConf*>(
        ngx_http_conf_get_module_main_conf(cf, ngx_http_tollgate_module));
}

MainConf& MainConf::of(ngx_http_request_t* r) {
    return *static_cast<MainConf*>(ngx_http_get_module_main_conf(r, ngx_http_tollgate_module));
}

MainConf* MainConf::of(ngx_cycle_t* cycle) {
    return static_cast<MainConf*>(
        ngx_http_cycle_get_module_main_conf(cycle, ngx_http_tollgate_module));
}

void* create_main_conf(ngx_conf_t* cf) noexcept {
    return guarded<void*>(cf->log, nullptr, [&] {
        auto* conf = make_pooled<MainConf>(cf->pool);
        return conf;
    });
}

bool MainConf::resolve(ngx_conf_t* cf) {
    for (const auto& table : tables) {
        if (table->redis_name.empty() && redis.size() != 1) {
            log_conf_error(cf, table->position,
                           redis.empty()
                               ? "\"tollgate_plans\" needs a \"tollgate_redis\""
                               : "\"redis\" is needed where there are several \"tollgate_redis\"");
            return false;
        }
        const auto found = std::ranges::find_if(redis, [&](const auto& conf) {
            return table->redis_name.empty() || conf->endpoint.name == table->redis_name;
        });
        if (found == redis.end()) {
            log_conf_error(cf, table->position,
                           "unknown tollgate_redis \"" + table->redis_name + "\"");
            return false;
        }
        table->redis = found->get();
    }
    for (const auto& set : sets) {
        for (const auto& name : set->names) {
            const auto found = std::ranges::find_if(
                tables, [&](const auto& conf) { return conf->table.name == name; });
            if (found == tables.end()) {
                log_conf_error(cf, set->position, "unknown tollgate_plans \"" + name + "\"");
                return false;
            }
            if (set->redis != nullptr && set->redis != (*found)->redis) {
                log_conf_error(cf, set->position,
                               "plan tables \"" + set->names.front() + "\" and \"" + name +
                                   "\" have different Redis: one request can't be decided in both");
                return false;
            }
            set->redis = (*found)->redis;
            set->tables.push_back(&(*found)->table);
            if (!set->ban) {
                set->ban = (*found)->table.ban;
            }
        }
        set->choices.emplace(set->tables);
    }
    return true;
}

void log_conf_error(ngx_conf_t* cf, std::string_view message) {
    ngx_str_t text = borrow(message);
    ngx_conf_log_error(NGX_LOG_EMERG, cf, 0, "%V", &text);
}

namespace {

void log_at(ngx_conf_t* cf, ngx_uint_t level, const Position& position, std::string_view message) {
    ngx_str_t text = borrow(message);
    ngx_str_t file = borrow(position.file);
    ngx_log_error(level, cf->log, 0, "%V in %V:%ui", &text, &file, position.line);
}

}  // namespace

void log_conf_error(ngx_conf_t* cf, const Position& position, std::string_view message) {
    log_at(cf, NGX_LOG_EMERG, position, message);
}

void log_conf_warning(ngx_conf_t* cf, const Position& position, std::string_view message) {
    log_at(cf, NGX_LOG_WARN, position, message);
}

}  // namespace tollgate::http
