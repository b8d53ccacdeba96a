#include "module/http/config/auth_basic_conflict.hpp"

#include <algorithm>
#include <cstring>
#include <optional>
#include <set>
#include <span>
#include <string>

#include "module/http/config/location_conf.hpp"

namespace tollgate::http {

namespace {

/// The place of the auth_basic module's realm in a location's configuration.
struct RealmSlot {
    ngx_uint_t module_index;
    ngx_uint_t offset;

    const ngx_http_complex_value_t* of(void** loc_conf) const {
        const auto* conf = static_cast<const char*>(loc_conf[module_index]) + offset;
        const ngx_http_complex_value_t* realm = nullptr;
        std::memcpy(&realm, conf, sizeof(void*));
        return realm;
    }
};

/// Finds the realm through the `auth_basic` directive: its offset is the place of the value, and
/// its setter shows the type. This assumes nothing about the layout of the module's structures.
/// Returns nullopt if nginx has no such module, or if another function reads the directive.
std::optional<RealmSlot> find_realm(const ngx_cycle_t* cycle) {
    for (ngx_module_t* module : std::span(cycle->modules, cycle->modules_n)) {
        if (module->type != NGX_HTTP_MODULE || module->commands == nullptr) {
            continue;
        }
        for (const ngx_command_t* command = module->commands; command->name.len != 0; ++command) {
            if (view(command->name) == "auth_basic" &&
                command->set == ngx_http_set_complex_value_slot &&
                command->conf == NGX_HTTP_LOC_CONF_OFFSET) {
                return RealmSlot{module->ctx_index, command->offset};
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
/// bypass, it may be enough for some requests. A key in another field leaves `Authorization` to the
/// password.
bool needs_bearer(const LocationConf& conf) {
    return conf.dry_run == 0 && conf.bypass == nullptr &&
           std::ranges::all_of(conf.key_from->sources, [](const KeySource& source) {
               return source.field == "authorization";
           });
}

}  // namespace

void warn_of_auth_basic(ngx_conf_t* cf) {
    const auto slot = find_realm(cf->cycle);
    if (!slot) {
        return;
    }
    // An `if` or `limit_except` block has its own configuration, with the name of its location.
    std::set<const u_char*> warned;
    for (const auto& place : MainConf::of(cf).guarded) {
        const auto& core = place.core();
        // A server with locations is skipped: its locations inherit its settings.
        if ((core.name.len == 0 && core.locations != nullptr) || !needs_bearer(*place.conf) ||
            core.satisfy == NGX_HTTP_SATISFY_ANY || !is_on(slot->of(place.loc_conf)) ||
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

}  // namespace tollgate::http
