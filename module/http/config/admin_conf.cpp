#include "module/http/config/admin_conf.hpp"

#include <algorithm>

#include "module/http/config/conf_block.hpp"
#include "module/http/config/location_conf.hpp"
#include "module/http/endpoints/content_handler.hpp"
#include "module/http/endpoints/endpoints.hpp"

namespace tollgate::http {

namespace {

ngx_http_core_loc_conf_t& core_of(ngx_conf_t* cf) {
    return *static_cast<ngx_http_core_loc_conf_t*>(
        ngx_http_conf_get_module_loc_conf(cf, ngx_http_core_module));
}

}  // namespace

char* read_admin(ngx_conf_t* cf, ngx_command_t* command, void* conf) noexcept {
    if (char* result = read_content_handler(cf, command, conf, handle_admin); result != conf_ok()) {
        return result;
    }
    return guarded(cf->log, conf_error(), [&]() -> char* {
        const auto& core = core_of(cf);
        const auto name = view(core.name);
        if (is_regex(core) || core.named != 0 || !name.ends_with('/')) {
            return const_cast<char*>(
                "needs a location with a prefix, such as \"location /admin/\"");
        }
        static_cast<LocationConf*>(conf)->admin = make_pooled<AdminConf>(
            cf->pool,
            AdminConf{.redis_name = std::string(words_of(cf)[1]), .base = std::string(name)});
        return conf_ok();
    });
}

std::string_view find_admin_mistake(ngx_conf_t* cf, const LocationConf& conf) {
    auto& redis = MainConf::of(cf).redis;
    const auto found = std::ranges::find(redis, conf.admin->redis_name,
                                         [](const auto& each) { return each->endpoint.name; });
    if (found == redis.end()) {
        return "names an unknown \"tollgate_redis\"";
    }
    conf.admin->redis = static_cast<std::size_t>(found - redis.begin());
    if (conf.tables == nullptr) {
        return "needs a \"tollgate\" that names a plan table: it must not be open";
    }
    if (conf.scopes.len == 0) {
        return "needs a \"tollgate_scope\": not every key may manage keys";
    }
    if (conf.dry_run != 0) {
        return "must not have \"tollgate_dry_run on\": it must not be open";
    }
    if (conf.bypass != nullptr) {
        return "must not have \"tollgate_bypass\": it must not be open";
    }
    if (core_of(cf).satisfy == NGX_HTTP_SATISFY_ANY) {
        return "must not have \"satisfy any\": it must not be open";
    }
    return "";
}

}  // namespace tollgate::http
