#include "module/http/endpoints/content_handler.hpp"

#include <algorithm>
#include <string>

#include "module/http/config/location_conf.hpp"
#include "module/http/endpoints/endpoints.hpp"
#include "module/key/scopes.hpp"

namespace tollgate::http {

namespace {

std::string_view find_usage_mistake(ngx_conf_t* /*cf*/, const LocationConf& conf) {
    return conf.tables == nullptr ? "needs a \"tollgate\" that names a plan table" : "";
}

std::string_view find_status_mistake(ngx_conf_t* cf, const LocationConf& /*conf*/) {
    return MainConf::of(cf).tables.empty() ? "needs a \"tollgate_plans\"" : "";
}

/// Why a location must not serve the keys: its requests may pass without a key that has a scope.
/// Resolves the name of the Redis.
std::string_view find_admin_mistake(ngx_conf_t* cf, const LocationConf& conf) {
    AdminConf& admin = *conf.content->admin;
    auto& redis = MainConf::of(cf).redis;
    const auto found = std::ranges::find(redis, admin.redis_name,
                                         [](const auto& each) { return each->link.name; });
    if (found == redis.end()) {
        return "names an unknown \"tollgate_redis\"";
    }
    admin.redis = static_cast<std::size_t>(found - redis.begin());
    if (conf.tables == nullptr) {
        return "needs a \"tollgate\" that names a plan table: the admin API must require a key";
    }
    if (conf.roles != nullptr ? conf.roles->read.empty() || conf.roles->write.empty()
                              : conf.scopes->empty()) {
        return "needs a \"tollgate_scope\", or \"read=\" and \"write=\": not every key may manage "
               "keys";
    }
    if (conf.dry_run != 0) {
        return "conflicts with \"tollgate_dry_run on\": the admin API must require a key";
    }
    if (conf.bypass != nullptr) {
        return "conflicts with \"tollgate_bypass\": the admin API must require a key";
    }
    if (core_location(cf).satisfy == NGX_HTTP_SATISFY_ANY) {
        return "conflicts with \"satisfy any\": the admin API must require a key";
    }
    return "";
}

/// Why a location must not serve the page: a browser gets 401 for it, because it sends no key.
std::string_view find_console_mistake(ngx_conf_t* cf, const LocationConf& conf) {
    const bool needs_key = conf.tables != nullptr && conf.subject == nullptr &&
                           conf.bypass == nullptr && conf.dry_run == 0 &&
                           core_location(cf).satisfy != NGX_HTTP_SATISFY_ANY;
    return needs_key ? "conflicts with \"tollgate\": a browser requests the page without a key"
                     : "";
}

/// Whether the name of a location is the beginning of paths.
bool has_paths_below(const ngx_http_core_loc_conf_t& location) {
    return !is_regex(location) && location.named == 0 && location.exact_match == 0 &&
           view(location.name).ends_with('/');
}

/// Reads `read=SCOPE` or `write=SCOPE`.
void read_role(std::string_view word, AdminConf& admin) {
    const auto equals = word.find('=');
    const auto name = word.substr(0, equals);
    if (equals == std::string_view::npos || (name != "read" && name != "write")) {
        throw ParseError("invalid parameter " + in_quotes(word));
    }
    const auto scope = word.substr(equals + 1);
    // Most likely meant as a variable.
    if (!is_valid_scope(scope) || scope.starts_with('$')) {
        throw ParseError("invalid scope in " + in_quotes(word));
    }
    std::string& role = name == "read" ? admin.read_scope : admin.write_scope;
    if (!role.empty()) {
        throw ParseError("\"tollgate_admin\" directive has \"" + std::string(name) + "=\" twice");
    }
    role = scope;
}

}  // namespace

char* read_usage(ngx_conf_t* cf, ngx_command_t* /*command*/, void* conf) noexcept {
    return read_directive(cf, [&] {
        return set_content_handler(cf, conf, {handle_usage, find_usage_mistake});
    });
}

char* read_status(ngx_conf_t* cf, ngx_command_t* /*command*/, void* conf) noexcept {
    return read_directive(cf, [&] {
        const auto words = words_of(cf);
        if (words.size() > 1 && words[1] != "ready") {
            throw ParseError(in_quotes(words[0]) + ": " + in_quotes(words[1]) +
                             " is not \"ready\"");
        }
        const auto handler = words.size() > 1 ? handle_readiness : handle_status;
        return set_content_handler(cf, conf, {handler, find_status_mistake});
    });
}

char* read_dashboard(ngx_conf_t* cf, ngx_command_t* /*command*/, void* conf) noexcept {
    return read_directive(cf, [&] {
        constexpr std::string_view kBesideThePage = "status";
        const auto words = words_of(cf);
        const auto* dashboard = make_pooled<Dashboard>(
            cf->pool, make_dashboard(words.size() > 1 ? words[1] : kBesideThePage));
        return set_content_handler(cf, conf, {handle_dashboard, find_status_mistake, dashboard});
    });
}

char* read_admin(ngx_conf_t* cf, ngx_command_t* /*command*/, void* conf) noexcept {
    return read_directive(cf, [&]() -> const char* {
        const auto& core = core_location(cf);
        if (!has_paths_below(core)) {
            return "needs a location with a prefix, such as \"location /admin/\"";
        }
        const auto words = words_of(cf);
        auto* admin = make_pooled<AdminConf>(
            cf->pool,
            AdminConf{.redis_name = std::string(words[1]), .base = std::string(view(core.name))});
        for (const auto word : Words(words).subspan(2)) {
            read_role(word, *admin);
        }
        return set_content_handler(cf, conf,
                                   {.handler = handle_admin,
                                    .find_mistake = find_admin_mistake,
                                    .admin = admin,
                                    .is_read = is_admin_read});
    });
}

char* read_console(ngx_conf_t* cf, ngx_command_t* /*command*/, void* conf) noexcept {
    return read_directive(cf, [&]() -> const char* {
        constexpr std::string_view kUsualApi = "/admin/";
        auto& core = core_location(cf);
        if (!has_paths_below(core)) {
            return "needs a location with a prefix, such as \"location /console/\"";
        }
        const auto words = words_of(cf);
        const auto* console = make_pooled<Console>(
            cf->pool, make_console(view(core.name), words.size() > 1 ? words[1] : kUsualApi));
        // As for proxy_pass: `/console` is redirected to `/console/`.
        core.auto_redirect = 1;
        return set_content_handler(
            cf, conf,
            {.handler = handle_console, .find_mistake = find_console_mistake, .console = console});
    });
}

}  // namespace tollgate::http
