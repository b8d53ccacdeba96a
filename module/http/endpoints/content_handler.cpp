#include "module/http/endpoints/content_handler.hpp"

#include <string>

#include "module/http/config/admin_conf.hpp"
#include "module/http/config/conf_block.hpp"
#include "module/http/endpoints/endpoints.hpp"
#include "module/text/parse_error.hpp"

namespace tollgate::http {

namespace {

ngx_http_core_loc_conf_t& core_location(ngx_conf_t* cf) {
    return *static_cast<ngx_http_core_loc_conf_t*>(
        ngx_http_conf_get_module_loc_conf(cf, ngx_http_core_module));
}

}  // namespace

char* read_content_handler(ngx_conf_t* cf, const ngx_command_t* command, void* conf,
                           ngx_http_handler_pt handler) noexcept {
    return guarded(cf->log, conf_error(), [&]() -> char* {
        auto& location = *static_cast<LocationConf*>(conf);
        if (location.content != nullptr && location.content->handler == handler) {
            return const_cast<char*>("is duplicate");
        }
        if (core_location(cf).handler != nullptr) {
            return const_cast<char*>("stands beside another content handler");
        }
        location.content = make_pooled<ContentHandler>(
            cf->pool, ContentHandler{handler, command->name, Position::of(cf)});
        core_location(cf).handler = handler;
        return conf_ok();
    });
}

namespace {

/// Why the content handler can't serve this location; empty if it can.
std::string_view mistake_in(ngx_conf_t* cf, const LocationConf& conf) {
    if (core_location(cf).handler != conf.content->handler) {
        return "stands beside another content handler";
    }
    if (conf.content->handler == handle_usage && conf.tables == nullptr) {
        return "needs a \"tollgate\" that names a plan table";
    }
    if (conf.content->handler == handle_admin) {
        return find_admin_mistake(cf, conf);
    }
    return MainConf::of(cf).tables.empty() ? "needs a \"tollgate_plans\"" : "";
}

}  // namespace

char* read_usage(ngx_conf_t* cf, ngx_command_t* command, void* conf) noexcept {
    return read_content_handler(cf, command, conf, handle_usage);
}

char* read_status(ngx_conf_t* cf, ngx_command_t* command, void* conf) noexcept {
    return guarded(cf->log, conf_error(), [&]() -> char* {
        const auto words = words_of(cf);
        if (words.size() == 1) {
            return read_content_handler(cf, command, conf, handle_status);
        }
        if (words[1] == "ready") {
            return read_content_handler(cf, command, conf, handle_readiness);
        }
        log_conf_error(cf, Position::of(cf),
                       in_quotes(words[0]) + ": " + in_quotes(words[1]) + " is not \"ready\"");
        return conf_error();
    });
}

char* read_dashboard(ngx_conf_t* cf, ngx_command_t* command, void* conf) noexcept {
    if (char* result = read_content_handler(cf, command, conf, handle_dashboard);
        result != conf_ok()) {
        return result;
    }
    return guarded(cf->log, conf_error(), [&]() -> char* {
        constexpr std::string_view kBesideThePage = "status";
        const auto words = words_of(cf);
        try {
            static_cast<LocationConf*>(conf)->dashboard = make_pooled<Dashboard>(
                cf->pool, make_dashboard(words.size() > 1 ? words[1] : kBesideThePage));
            return conf_ok();
        } catch (const ParseError& e) {
            log_conf_error(cf, Position::of(cf), in_quotes(words[0]) + ": " + e.what());
            return conf_error();
        }
    });
}

bool merge_content_handler(ngx_conf_t* cf, const LocationConf& outer, LocationConf& conf) {
    auto& core = core_location(cf);
    if (conf.content == nullptr && core.noname != 0 && core.handler == nullptr &&
        outer.content != nullptr) {
        conf.content = outer.content;
        conf.dashboard = outer.dashboard;
        conf.admin = outer.admin;
        core.handler = outer.content->handler;
    }
    if (conf.content == nullptr) {
        return true;
    }
    const auto mistake = mistake_in(cf, conf);
    if (mistake.empty()) {
        return true;
    }
    log_conf_error(cf, conf.content->position,
                   in_quotes(view(conf.content->directive)) + " " + std::string(mistake));
    return false;
}

}  // namespace tollgate::http
