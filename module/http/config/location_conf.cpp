#include "module/http/config/location_conf.hpp"

#include <algorithm>
#include <optional>

#include "module/http/config/conf_block.hpp"
#include "module/http/config/key_sources.hpp"
#include "module/http/endpoints/content_handler.hpp"
#include "module/http/request/log_redaction.hpp"
#include "module/key/key_record.hpp"
#include "module/key/scopes.hpp"
#include "module/text/parse_error.hpp"
#include "module/text/whole_number.hpp"

namespace tollgate::http {

namespace {

/// A cost: a whole number from 0 to 10^12, the largest limit of a rate.
std::optional<std::int64_t> parse_cost(std::string_view text) {
    constexpr std::int64_t kMost = 1'000'000'000'000;
    return parse_whole_number(text, 0, kMost);
}

std::optional<std::string_view> evaluate(ngx_http_request_t* r, ngx_http_complex_value_t* value) {
    ngx_str_t text{};
    if (ngx_http_complex_value(r, value, &text) != NGX_OK) {
        return std::nullopt;
    }
    return view(text);
}

}  // namespace

const LocationConf& LocationConf::of(ngx_http_request_t* r) {
    return *static_cast<LocationConf*>(ngx_http_get_module_loc_conf(r, ngx_http_tollgate_module));
}

std::string_view LocationConf::realm_of(ngx_http_request_t* r) const {
    constexpr std::string_view kDefault = "api";
    return realm == nullptr ? kDefault : evaluate(r, realm).value_or(kDefault);
}

std::int64_t LocationConf::cost_of(ngx_http_request_t* r) const {
    if (cost == nullptr) {
        return 1;
    }
    const auto text = evaluate(r, cost).value_or("");
    const auto number = parse_cost(text);
    if (!number) {
        // A variable can contain decoded client input. No line break of it may get into the log.
        ngx_str_t printed = borrow(is_valid_key_name(text) ? text : "?");
        ngx_log_error(NGX_LOG_ERR, r->connection->log, 0,
                      "invalid tollgate_cost \"%V\", 1 is taken", &printed);
    }
    return number.value_or(1);
}

void* create_location_conf(ngx_conf_t* cf) noexcept {
    auto* conf = static_cast<LocationConf*>(ngx_pcalloc(cf->pool, sizeof(LocationConf)));
    if (conf == nullptr) {
        return nullptr;
    }
    conf->tables = static_cast<TableSetConf*>(NGX_CONF_UNSET_PTR);
    conf->key_from = static_cast<KeySourcesConf*>(NGX_CONF_UNSET_PTR);
    conf->realm = static_cast<ngx_http_complex_value_t*>(NGX_CONF_UNSET_PTR);
    conf->headers = NGX_CONF_UNSET_UINT;
    conf->cost = static_cast<ngx_http_complex_value_t*>(NGX_CONF_UNSET_PTR);
    conf->bypass = static_cast<ngx_array_t*>(NGX_CONF_UNSET_PTR);
    conf->dry_run = NGX_CONF_UNSET;
    conf->forward_authorization = NGX_CONF_UNSET;
    conf->json_errors = NGX_CONF_UNSET;
    conf->log_level = NGX_CONF_UNSET_UINT;
    return conf;
}

char* merge_location_conf(ngx_conf_t* cf, void* parent, void* child) noexcept {
    const auto* outer = static_cast<const LocationConf*>(parent);
    auto* conf = static_cast<LocationConf*>(child);
    ngx_conf_merge_ptr_value(conf->tables, outer->tables, nullptr);
    ngx_conf_merge_ptr_value(conf->realm, outer->realm, nullptr);
    ngx_conf_merge_uint_value(conf->headers, outer->headers, static_cast<ngx_uint_t>(kXRateLimit));
    ngx_conf_merge_ptr_value(conf->cost, outer->cost, nullptr);
    ngx_conf_merge_ptr_value(conf->bypass, outer->bypass, nullptr);
    ngx_conf_merge_str_value(conf->scopes, outer->scopes, "");
    ngx_conf_merge_value(conf->dry_run, outer->dry_run, 0);
    ngx_conf_merge_value(conf->forward_authorization, outer->forward_authorization, 0);
    if (conf->json_errors == NGX_CONF_UNSET && conf->admin != nullptr) {
        conf->json_errors = 1;
    }
    ngx_conf_merge_value(conf->json_errors, outer->json_errors, 0);
    ngx_conf_merge_uint_value(conf->log_level, outer->log_level,
                              static_cast<ngx_uint_t>(NGX_LOG_ERR));
    return guarded(cf->log, conf_error(), [&] {
        ngx_conf_merge_ptr_value(conf->key_from, outer->key_from, default_key_sources(cf));
        note_error_log(cf);
        if (conf->tables != nullptr) {
            const auto* context = static_cast<ngx_http_conf_ctx_t*>(cf->ctx);
            MainConf::of(cf).guarded.push_back(
                {context->srv_conf, context->loc_conf, conf, conf->tables == outer->tables});
        }
        return merge_content_handler(cf, *outer, *conf) ? conf_ok() : conf_error();
    });
}

char* read_tollgate(ngx_conf_t* cf, ngx_command_t* /*command*/, void* conf) noexcept {
    return guarded(cf->log, conf_error(), [&]() -> char* {
        auto& location = *static_cast<LocationConf*>(conf);
        if (location.tables != NGX_CONF_UNSET_PTR) {
            return const_cast<char*>("is duplicate");
        }
        const auto words = words_of(cf);
        const auto names = std::span(words).subspan(1);
        if (std::ranges::find(names, "off") != names.end()) {
            location.tables = nullptr;
            return names.size() == 1 ? conf_ok() : const_cast<char*>("has \"off\" beside a table");
        }
        auto set = std::make_unique<TableSetConf>();
        for (const auto name : names) {
            if (std::ranges::find(set->names, name) != set->names.end()) {
                return const_cast<char*>("names a table twice");
            }
            set->names.emplace_back(name);
        }
        set->position = Position::of(cf);
        location.tables = set.get();
        auto& sets = MainConf::of(cf).sets;
        set->index = sets.size();
        sets.push_back(std::move(set));
        return conf_ok();
    });
}

char* read_scope(ngx_conf_t* cf, ngx_command_t* /*command*/, void* conf) noexcept {
    return guarded(cf->log, conf_error(), [&]() -> char* {
        auto& location = *static_cast<LocationConf*>(conf);
        if (location.scopes.data != nullptr) {
            return const_cast<char*>("is duplicate");
        }
        const auto words = words_of(cf);
        const auto names = std::span(words).subspan(1);
        if (names.size() == 1 && names.front() == "off") {
            location.scopes = copy(cf->pool, "");
            return conf_ok();
        }
        std::string scopes;
        for (const auto name : names) {
            if (name == "off") {
                return const_cast<char*>("has \"off\" beside a scope");
            }
            // Most likely meant as a variable.
            if (!is_valid_scope(name) || name.starts_with('$')) {
                log_conf_error(cf, "invalid scope \"" + std::string(name) +
                                       "\": use printable ASCII characters except the space, "
                                       "\" and \\, without variables");
                return conf_error();
            }
            scopes.append(name).append(" ");
        }
        try {
            location.scopes = copy(cf->pool, parse_scopes(scopes));
        } catch (const ParseError& error) {
            log_conf_error(cf, std::string("tollgate_scope: ") + error.what());
            return conf_error();
        }
        return conf_ok();
    });
}

char* read_cost(ngx_conf_t* cf, ngx_command_t* command, void* conf) noexcept {
    char* result = ngx_http_set_complex_value_slot(cf, command, conf);
    if (result != conf_ok()) {
        return result;
    }
    const auto* cost = static_cast<LocationConf*>(conf)->cost;
    if (cost->lengths == nullptr && !parse_cost(view(cost->value))) {
        return const_cast<char*>("has an invalid number");
    }
    return conf_ok();
}

}  // namespace tollgate::http
