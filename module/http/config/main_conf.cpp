#include "module/http/config/main_conf.hpp"

#include <algorithm>
#include <functional>

#include "module/plan/plan_directives.hpp"
#include "module/text/name_hash.hpp"

namespace tollgate::http {

namespace {

/// A text of each element, joined by `+`.
template <typename Elements, typename TextOf>
std::string joined(const Elements& elements, TextOf text_of) {
    std::string text;
    for (const auto& element : elements) {
        text.append(text.empty() ? "" : "+").append(std::invoke(text_of, element));
    }
    return text;
}

}  // namespace

const ngx_http_core_loc_conf_t& GuardedPlace::core() const {
    return *static_cast<ngx_http_core_loc_conf_t*>(loc_conf[ngx_http_core_module.ctx_index]);
}

std::string GuardedPlace::name() const {
    if (core().name.len != 0) {
        return "location \"" + std::string(view(core().name)) + "\"";
    }
    return core().locations == nullptr ? "a server without a location" : "a server";
}

std::string TableSetConf::joined_names() const {
    return joined(names, std::identity());
}

std::string TableSetConf::joined_units() const {
    return joined(tables, &PlanTable::unit);
}

const KeySourcesConf* MainConf::default_key_sources() {
    if (key_sources.empty()) {
        key_sources.push_back(std::make_unique<KeySourcesConf>());
        key_sources.front()->sources = {parse_key_source("bearer")};
    }
    return key_sources.front().get();
}

const TableConf* MainConf::find_table(std::string_view name) const {
    const auto found =
        std::ranges::find_if(tables, [&](const auto& conf) { return conf->table.name == name; });
    return found == tables.end() ? nullptr : found->get();
}

bool MainConf::resolve(ngx_conf_t* cf) {
    for (const auto& table : tables) {
        if (table->redis_name.empty() && redis.size() != 1) {
            log_conf_error(cf, table->position,
                           redis.empty()
                               ? "\"tollgate_plans\" needs a \"tollgate_redis\""
                               : "\"redis=\" is required with several tollgate_redis blocks");
            return false;
        }
        const auto found = std::ranges::find_if(redis, [&](const auto& conf) {
            return table->redis_name.empty() || conf->link.name == table->redis_name;
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
            const TableConf* found = find_table(name);
            if (found == nullptr) {
                log_conf_error(cf, set->position,
                               "unknown tollgate_plans \"" + name + "\"" +
                                   (name == "on" ? ": use the name of a block" : ""));
                return false;
            }
            if (set->redis != nullptr && set->redis != found->redis) {
                log_conf_error(cf, set->position,
                               "plan tables \"" + set->names.front() + "\" and \"" + name +
                                   "\" have different Redis: one request can't be decided in both");
                return false;
            }
            set->redis = found->redis;
            set->tables.push_back(&found->table);
            set->variables.push_back(found->variable);
            if (!set->ban) {
                set->ban = found->table.ban;
            }
        }
    }
    return true;
}

std::string_view KeySourcesConf::challenge_field() const {
    const bool has_bearer = std::ranges::any_of(sources, &KeySource::bearer);
    return has_bearer ? std::string_view() : field_name(sources.front());
}

char* read_plans_block(ngx_conf_t* cf, ngx_command_t* /*command*/, void* /*conf*/) noexcept {
    return read_directive(cf, [&] {
        auto& main = MainConf::of(cf);
        auto conf = std::make_unique<TableConf>();
        conf->position = Position::of(cf);
        const auto words = words_of(cf);
        TableDirective directive = parse_table_directive(Words(words).subspan(1));
        conf->table = std::move(directive.table);
        conf->redis_name = std::move(directive.redis_name);
        for (const auto& other : main.tables) {
            check_names("tollgate_plans", conf->table.name, other->table.name);
        }
        read_block(cf, [&](Words words) { set_plans_directive(conf->table, words); });
        check_plan_table(conf->table);
        if (conf->table.counts_values()) {
            ngx_str_t name = copy(cf->pool, conf->table.variable);
            conf->variable = ngx_http_get_variable_index(cf, &name);
            if (conf->variable == NGX_ERROR) {
                throw LoggedConfError();
            }
        }
        main.tables.push_back(std::move(conf));
        return nullptr;
    });
}

}  // namespace tollgate::http
