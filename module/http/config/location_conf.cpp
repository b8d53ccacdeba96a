#include "module/http/config/location_conf.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "module/http/config/complex_value.hpp"
#include "module/key/scopes.hpp"
#include "module/redis/protocol/acquire_codec.hpp"

namespace tollgate::http {

namespace {

const std::string kNoScopes;

constexpr const char* kConflict = "conflicts with another content handler";

/// NGX_CONF_UNSET, NGX_CONF_UNSET_UINT and NGX_CONF_UNSET_PTR consist of this byte.
constexpr int kUnsetByte = 0xff;

/// Takes the fields that are not set from `outer`.
void inherit(LocationConf& conf, const LocationConf& outer) {
    using FieldWords = std::array<std::intptr_t, sizeof(LocationConf) / sizeof(std::intptr_t)>;
    auto words = std::bit_cast<FieldWords>(conf);
    std::ranges::transform(
        words, std::bit_cast<FieldWords>(outer), words.begin(),
        [](std::intptr_t own, std::intptr_t other) { return own == NGX_CONF_UNSET ? other : own; });
    conf = std::bit_cast<LocationConf>(words);
}

/// The values where no directive is set: 0 and nullptr, except these.
LocationConf defaults(ngx_conf_t* cf) {
    LocationConf conf{};
    conf.key_from = MainConf::of(cf).default_key_sources();
    conf.headers = kXRateLimit;
    conf.scopes = &kNoScopes;
    conf.log_level = NGX_LOG_ERR;
    return conf;
}

/// What `read=` and `write=` of `tollgate_admin` add to `tollgate_scope`. nullptr: nothing.
const RoleScopes* role_scopes(ngx_conf_t* cf, const LocationConf& conf) {
    const auto* const admin = conf.content != nullptr ? conf.content->admin : nullptr;
    if (admin == nullptr || (admin->read_scope.empty() && admin->write_scope.empty())) {
        return nullptr;
    }
    return make_pooled<RoleScopes>(
        cf->pool, RoleScopes{.read = parse_scopes(*conf.scopes + " " + admin->read_scope),
                             .write = parse_scopes(*conf.scopes + " " + admin->write_scope)});
}

/// Returns false after logging why the content handler can't serve the location.
bool check_content_handler(ngx_conf_t* cf, const LocationConf& conf) {
    if (conf.content == nullptr) {
        return true;
    }
    const std::string_view mistake = core_location(cf).handler != conf.content->handler
                                         ? kConflict
                                         : conf.content->find_mistake(cf, conf);
    if (!mistake.empty()) {
        log_conf_error(cf, conf.content->position,
                       in_quotes(conf.content->directive) + " " + std::string(mistake));
    }
    return mistake.empty();
}

}  // namespace

const std::string& LocationConf::scopes_of(const ngx_http_request_t* r) const {
    if (roles == nullptr) {
        return *scopes;
    }
    return content->is_read(r, *content->admin) ? roles->read : roles->write;
}

std::string_view LocationConf::realm_of(ngx_http_request_t* r) const {
    constexpr std::string_view kDefault = "api";
    return realm == nullptr ? kDefault : evaluate(r, realm).value_or(kDefault);
}

void* create_location_conf(ngx_conf_t* cf) noexcept {
    void* conf = ngx_palloc(cf->pool, sizeof(LocationConf));
    if (conf != nullptr) {
        std::memset(conf, kUnsetByte, sizeof(LocationConf));
    }
    return conf;
}

char* merge_location_conf(ngx_conf_t* cf, void* parent, void* child) noexcept {
    return guarded(cf->log, conf_error(), [&] {
        const auto& outer = *static_cast<const LocationConf*>(parent);
        auto& conf = *static_cast<LocationConf*>(child);
        auto& core = core_location(cf);
        const bool is_own = !is_unset(conf.content);
        const bool has_own_costs = !is_unset(conf.costs);
        if (conf.json_errors == NGX_CONF_UNSET && is_own && conf.content->admin != nullptr) {
            conf.json_errors = 1;
        }
        // `if` and `limit_except` blocks have the content handler of the location around them.
        if (!is_own && (core.noname == 0 || core.handler != nullptr)) {
            conf.content = nullptr;
        }
        inherit(conf, outer);
        inherit(conf, defaults(cf));
        conf.roles = role_scopes(cf, conf);
        if (conf.content != nullptr && !is_own) {
            core.handler = conf.content->handler;
        }
        auto& main = MainConf::of(cf);
        if (std::ranges::find(main.error_logs, core.error_log) == main.error_logs.end()) {
            main.error_logs.push_back(core.error_log);
        }
        if (conf.tables != nullptr) {
            const auto* context = static_cast<ngx_http_conf_ctx_t*>(cf->ctx);
            main.guarded.push_back(
                {context->srv_conf, context->loc_conf, &conf, conf.tables == outer.tables});
        }
        const bool is_valid =
            assign_costs(cf, conf, has_own_costs) && check_content_handler(cf, conf);
        return is_valid ? conf_ok() : conf_error();
    });
}

const char* set_content_handler(ngx_conf_t* cf, void* conf, const ContentHandler& content) {
    auto& core = core_location(cf);
    if (core.handler != nullptr) {
        return core.handler == content.handler ? "is duplicate" : kConflict;
    }
    core.handler = content.handler;
    auto* kept = make_pooled<ContentHandler>(cf->pool, content);
    kept->directive = words_of(cf)[0];
    kept->position = Position::of(cf);
    static_cast<LocationConf*>(conf)->content = kept;
    return nullptr;
}

char* read_tollgate(ngx_conf_t* cf, ngx_command_t* /*command*/, void* conf) noexcept {
    auto& tables = static_cast<LocationConf*>(conf)->tables;
    return read_once(cf, tables, [&](Words words) -> const TableSetConf* {
        if (is_off(words, "plan tables")) {
            return nullptr;
        }
        auto set = std::make_unique<TableSetConf>();
        for (const auto name : words.subspan(1)) {
            if (std::ranges::find(set->names, name) != set->names.end()) {
                throw ParseError("\"tollgate\" directive names a table twice");
            }
            set->names.emplace_back(name);
        }
        if (set->names.size() > redis::kMostTables) {
            throw ParseError("\"tollgate\" directive names more than " +
                             std::to_string(redis::kMostTables) + " tables");
        }
        set->position = Position::of(cf);
        auto& sets = MainConf::of(cf).sets;
        set->index = sets.size();
        return sets.emplace_back(std::move(set)).get();
    });
}

char* read_scope(ngx_conf_t* cf, ngx_command_t* /*command*/, void* conf) noexcept {
    auto& field = static_cast<LocationConf*>(conf)->scopes;
    return read_once(cf, field, [&](Words words) -> const std::string* {
        if (is_off(words, "scopes")) {
            return &kNoScopes;
        }
        std::string scopes;
        for (const auto name : words.subspan(1)) {
            // Most likely meant as a variable.
            if (!is_valid_scope(name) || name.starts_with('$')) {
                throw ParseError("invalid scope " + in_quotes(name) +
                                 ": use printable ASCII characters except the space, \" and \\, "
                                 "without variables");
            }
            scopes.append(name).append(" ");
        }
        return make_pooled<std::string>(cf->pool, parse_scopes(scopes));
    });
}

}  // namespace tollgate::http
