#include "module/http/config/location_conf.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <optional>

#include "module/http/config/complex_value.hpp"
#include "module/key/key_record.hpp"
#include "module/key/scopes.hpp"
#include "module/plan/rate.hpp"
#include "module/redis/protocol/acquire_codec.hpp"
#include "module/text/whole_number.hpp"

namespace tollgate::http {

namespace {

/// A cost: a whole number from 0 to kMostRequests.
std::optional<std::int64_t> parse_cost(std::string_view text) {
    return parse_whole_number(text, 0, kMostRequests);
}

/// What a variable says, which a client may choose: a cost, or kMoreThanAnyLimit for a larger
/// number. With any other cost, a larger number would be cheaper. Nothing if it is no number.
std::optional<std::int64_t> parse_cost_of_variable(std::string_view text) {
    constexpr std::string_view kDigits = "0123456789";
    const auto number = parse_cost(text);
    const bool is_number =
        !text.empty() && text.find_first_not_of(kDigits) == std::string_view::npos;
    return number || !is_number ? number : kMoreThanAnyLimit;
}

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

/// A variable can contain decoded client input. No line break of it may get into the log.
void log_invalid_cost(ngx_http_request_t* r, std::string_view text, const char* consequence) {
    ngx_str_t printed = borrow(is_valid_key_name(text) ? text : "?");
    ngx_log_error(NGX_LOG_ERR, r->connection->log, 0, "invalid tollgate_cost \"%V\", %s", &printed,
                  consequence);
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

std::int64_t LocationConf::cost_of(ngx_http_request_t* r) const {
    if (cost == nullptr) {
        return 1;
    }
    const auto text = evaluate(r, &cost->before).value_or("");
    const auto number = parse_cost_of_variable(text);
    if (!number) {
        log_invalid_cost(r, text, "1 is taken");
    }
    return number.value_or(1);
}

std::optional<std::int64_t> LocationConf::used_by(ngx_http_request_t* r) const {
    const auto text = evaluate(r, cost->settle).value_or("");
    const auto number = parse_cost_of_variable(text);
    if (!number && !text.empty()) {
        log_invalid_cost(r, text, "the reservation stands");
    }
    return number ? std::optional(std::min(*number, kMostRequests)) : std::nullopt;
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
        return check_content_handler(cf, conf) ? conf_ok() : conf_error();
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

char* read_cost(ngx_conf_t* cf, ngx_command_t* /*command*/, void* conf) noexcept {
    auto& cost = static_cast<LocationConf*>(conf)->cost;
    return read_once(cf, cost, [&](Words words) -> CostConf* {
        constexpr std::string_view kSettle = "settle=";
        auto* read = make_pooled<CostConf>(cf->pool);
        read->before = compile(cf, words[1]);
        if (!has_variables(read->before) && !parse_cost(words[1])) {
            throw ParseError("\"tollgate_cost\" directive has an invalid number");
        }
        if (!has_variables(read->before)) {
            read->constant = parse_cost(words[1]).value_or(0);
        }
        if (words.size() > 2) {
            if (!words[2].starts_with(kSettle)) {
                throw ParseError("invalid parameter " + in_quotes(words[2]));
            }
            read->settle = make_pooled<ngx_http_complex_value_t>(
                cf->pool, compile(cf, words[2].substr(kSettle.size())));
            if (!has_variables(*read->settle)) {
                throw ParseError("\"settle=\" needs a variable");
            }
        }
        return read;
    });
}

}  // namespace tollgate::http
