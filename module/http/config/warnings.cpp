#include "module/http/config/warnings.hpp"

#include <algorithm>
#include <cstring>
#include <optional>
#include <set>
#include <span>
#include <string>

#include "module/http/config/location_conf.hpp"

namespace tollgate::http {

namespace {

template <typename T>
T read_at(const void* place) {
    struct {
        T value;
    } read;
    std::memcpy(&read, place, sizeof(read));
    return read.value;
}

/// A directive of another module and the module's index. No header declares the structures of these
/// modules, but a directive shows the offset of its value, and its setter shows the type.
struct FoundDirective {
    const ngx_command_t* command;
    ngx_uint_t module_index;

    /// The value at an offset of the module's configuration of a location.
    template <typename T>
    T read(void** loc_conf, std::size_t offset) const {
        return read_at<T>(static_cast<const u_char*>(loc_conf[module_index]) + offset);
    }
};

/// Returns nullopt if nginx has no such directive.
std::optional<FoundDirective> find_directive_of_nginx(const ngx_cycle_t* cycle,
                                                      std::string_view name) {
    for (const ngx_module_t* module : std::span(cycle->modules, cycle->modules_n)) {
        if (module->type != NGX_HTTP_MODULE || module->commands == nullptr) {
            continue;
        }
        for (const auto* command = module->commands; command->name.len != 0; ++command) {
            if (view(command->name) == name) {
                return FoundDirective{command, module->ctx_index};
            }
        }
    }
    return std::nullopt;
}

/// Whether `auth_basic` is on for every request. A realm with variables may evaluate to `off`.
bool is_on(const ngx_http_complex_value_t* realm) {
    return realm != nullptr && realm->lengths == nullptr && view(realm->value) != "off";
}

/// Whether each request needs a key in `Authorization`. In a dry run a password is enough. With a
/// bypass or a subject, it may be enough for some requests. A key in another field leaves
/// `Authorization` to the password.
bool needs_bearer(const LocationConf& conf) {
    return conf.dry_run == 0 && conf.bypass == nullptr && conf.subject == nullptr &&
           std::ranges::all_of(conf.key_from->sources, [](const KeySource& source) {
               return source.field == "authorization";
           });
}

/// The status of the first `return` that is not in an `if` block; nullopt if there is none. Each
/// directive is compiled to words that begin with the address of its function.
std::optional<ngx_uint_t> unconditional_return(const ngx_array_t& codes) {
    using Code = ngx_http_script_code_pt;
    const auto* begin = static_cast<const u_char*>(codes.elts);
    const std::size_t size = codes.nelts * codes.size;
    for (std::size_t at = 0; at + sizeof(Code) <= size; at += sizeof(Code)) {
        const Code code = read_at<Code>(begin + at);
        if (code == ngx_http_script_return_code &&
            at + sizeof(ngx_http_script_return_code_t) <= size) {
            return read_at<ngx_http_script_return_code_t>(begin + at).status;
        }
        if (code == ngx_http_script_break_code) {
            return std::nullopt;
        }
        if (code == ngx_http_script_if_code && at + sizeof(ngx_http_script_if_code_t) <= size) {
            // The next word is added by the loop.
            at += read_at<ngx_http_script_if_code_t>(begin + at).next - sizeof(Code);
        }
    }
    return std::nullopt;
}

bool is_success(ngx_uint_t status) {
    return status >= 200 && status < 300;
}

void** server_of(const GuardedPlace& place) {
    const auto* server = static_cast<const ngx_http_core_srv_conf_t*>(
        place.srv_conf[ngx_http_core_module.ctx_index]);
    return server->ctx->loc_conf;
}

}  // namespace

void warn_of_auth_basic(ngx_conf_t* cf) {
    const auto basic = find_directive_of_nginx(cf->cycle, "auth_basic");
    if (!basic || basic->command->set != ngx_http_set_complex_value_slot ||
        basic->command->conf != NGX_HTTP_LOC_CONF_OFFSET) {
        return;
    }
    // An `if` or `limit_except` block has its own configuration, with the name of its location.
    std::set<const u_char*> warned;
    for (const auto& place : MainConf::of(cf).guarded) {
        const auto& core = place.core();
        if (is_outer(core) || !needs_bearer(*place.conf) || core.satisfy == NGX_HTTP_SATISFY_ANY ||
            !is_on(basic->read<const ngx_http_complex_value_t*>(place.loc_conf,
                                                                basic->command->offset)) ||
            (core.name.data != nullptr && !warned.insert(core.name.data).second)) {
            continue;
        }
        log_conf_warning(cf, place.conf->tables->position,
                         place.name() +
                             " has both \"tollgate\" and \"auth_basic\", which read the same "
                             "field \"Authorization\": no request passes both; "
                             "use \"satisfy any\", or switch one of them off");
    }
}

void warn_of_early_return(ngx_conf_t* cf) {
    // The configuration of nginx's rewrite module begins with the compiled directives, then the
    // size of their stack, unless its first flag no longer follows these two members.
    constexpr std::size_t kFirstFlag = sizeof(ngx_array_t*) + sizeof(ngx_uint_t);
    const auto rewrite = find_directive_of_nginx(cf->cycle, "rewrite_log");
    if (!rewrite || rewrite->command->offset != kFirstFlag) {
        return;
    }
    // A server is seen once for each of its locations.
    std::set<const ngx_array_t*> warned;
    for (const auto& place : MainConf::of(cf).guarded) {
        if (place.conf->dry_run != 0) {
            continue;
        }
        const auto& core = place.core();
        const bool is_page = core.named != 0 || core.internal != 0;
        // The directives of the server run before those of the location.
        for (void** loc_conf : {server_of(place), place.loc_conf}) {
            const auto* codes = rewrite->read<const ngx_array_t*>(loc_conf, 0);
            const auto status = codes == nullptr ? std::nullopt : unconditional_return(*codes);
            const bool is_beside = loc_conf == place.loc_conf && !place.is_inherited;
            if (!status || !(is_beside || (is_success(*status) && !is_page)) ||
                !warned.insert(codes).second) {
                continue;
            }
            const bool is_server = loc_conf == server_of(place);
            log_conf_warning(
                cf, place.conf->tables->position,
                (is_server ? std::string("a server") : place.name()) +
                    " has a \"return\", which answers every request before \"tollgate\" asks for "
                    "a key; " +
                    (is_server ? "move it into a location"
                               : "add \"tollgate off\", or move the \"return\" into an internal "
                                 "location and lead to it with \"try_files\""));
        }
    }
}

namespace {

/// The plans of these tables that never grant a request because this directive has a number, for a
/// message.
std::string plans_that_refuse(std::span<const PlanTable* const> tables, const CostsConf& costs,
                              const CostConf& cost) {
    std::string plans;
    for (const PlanTable* table : tables) {
        if (costs.of(table->name) != &cost) {
            continue;
        }
        for (const Plan& plan : table->plans) {
            if (std::ranges::any_of(plan.rates, [&](const Rate& rate) {
                    return rate.limit() <
                           (cost.least > 0 ? std::min(cost.least, cost.constant) : cost.constant);
                })) {
                plans.append(plans.empty() ? "\"" : ", \"")
                    .append(plan.name)
                    .append("\" in \"")
                    .append(table->name)
                    .append("\"");
            }
        }
    }
    return plans;
}

}  // namespace

void warn_of_costs(ngx_conf_t* cf) {
    std::set<std::pair<const u_char*, std::string>> warned;
    for (const auto& place : MainConf::of(cf).guarded) {
        const CostsConf* costs = place.conf->costs;
        const auto& core = place.core();
        if (costs == nullptr || is_outer(core)) {
            continue;
        }
        for (const CostConf& cost : costs->all) {
            const std::string plans = plans_that_refuse(place.conf->tables->tables, *costs, cost);
            if (plans.empty() ||
                (core.name.data != nullptr && !warned.emplace(core.name.data, cost.table).second)) {
                continue;
            }
            log_conf_warning(
                cf, place.conf->tables->position,
                place.name() + " has \"tollgate_cost " + std::to_string(cost.constant) +
                    "\", which is above a limit of these plans: none of their requests is "
                    "granted: " +
                    plans);
        }
    }
}

void warn_of_bans_without_strikes(ngx_conf_t* cf) {
    for (const auto& set : MainConf::of(cf).sets) {
        const bool has_strikes = !set->ban || set->ban->all_strike ||
                                 std::ranges::any_of(set->tables, [](const PlanTable* table) {
                                     return !table->by_group && !table->counts_values();
                                 });
        if (!has_strikes) {
            log_conf_warning(cf, set->position,
                             "the \"ban\" of tollgate_plans never begins here: no table is "
                             "by=id; add one, or \"strikes=all\"");
        }
    }
}

}  // namespace tollgate::http
