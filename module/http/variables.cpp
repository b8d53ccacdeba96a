#include "module/http/variables.hpp"

#include <array>
#include <optional>
#include <string>

#include "module/http/request/request_context.hpp"
#include "module/key/meta.hpp"

namespace tollgate::http {

namespace {

using gateway::Outcome;
using Value = std::optional<std::string>;

Value unless_empty(const std::string& text) {
    return text.empty() ? Value() : Value(text);
}

template <typename Read>
Value of_binding(const Outcome& outcome, Read read) {
    const WindowState* window = outcome.binding();
    return window == nullptr ? Value() : Value(std::to_string(read(*window)));
}

/// A variable's name, and its value for a request; empty if it has none.
struct Variable {
    ngx_str_t name;
    Value (*read)(const RequestContext&);
};

std::array<Variable, 10> variables{{
    {ngx_string("tollgate_key_id"),
     [](const RequestContext& c) { return unless_empty(c.outcome().key().id); }},
    {ngx_string("tollgate_key_name"),
     [](const RequestContext& c) { return unless_empty(c.outcome().key().name); }},
    {ngx_string("tollgate_plan"),
     [](const RequestContext& c) { return unless_empty(c.outcome().key().plan); }},
    {ngx_string("tollgate_scopes"),
     [](const RequestContext& c) { return unless_empty(c.outcome().key().scopes); }},
    {ngx_string("tollgate_key_from"),
     [](const RequestContext& c) {
         return c.key_source() == nullptr ? Value() : Value(c.key_source()->name);
     }},
    {ngx_string("tollgate_verdict"),
     [](const RequestContext& c) { return Value(name_of(c.outcome().verdict)); }},
    {ngx_string("tollgate_cost"),
     [](const RequestContext& c) {
         return c.outcome().cost ? Value(std::to_string(*c.outcome().cost)) : Value();
     }},
    {ngx_string("tollgate_limit"),
     [](const RequestContext& c) {
         return of_binding(c.outcome(), [](const WindowState& w) { return w.rate.requests; });
     }},
    {ngx_string("tollgate_remaining"),
     [](const RequestContext& c) {
         return of_binding(c.outcome(), [](const WindowState& w) { return w.remaining; });
     }},
    {ngx_string("tollgate_reset"),
     [](const RequestContext& c) {
         return of_binding(c.outcome(), [](const WindowState& w) { return unix_seconds(w.reset); });
     }},
}};

ngx_str_t meta_prefix = ngx_string("tollgate_meta_");

/// The member of the key's meta that the name of a variable ends with.
Value meta_member(const Outcome& outcome, std::string_view variable) {
    if (outcome.key().meta.empty()) {
        return std::nullopt;
    }
    const Meta meta = parse_meta(outcome.key().meta);
    const auto member = meta.find(variable.substr(meta_prefix.len));
    return member == meta.end() ? Value() : Value(meta_text(member->second));
}

/// Sets a variable to the text that `read` returns.
template <typename Read>
ngx_int_t set_value(ngx_http_request_t* r, ngx_http_variable_value_t* value, Read read) noexcept {
    return guarded(r->connection->log, static_cast<ngx_int_t>(NGX_ERROR), [&] {
        const Value text = read(RequestContext::find(r));
        if (!text) {
            value->not_found = 1;
            return NGX_OK;
        }
        const ngx_str_t kept = copy(r->pool, *text);
        value->data = kept.data;
        value->len = kept.len;
        value->valid = 1;
        value->no_cacheable = 0;
        value->not_found = 0;
        return NGX_OK;
    });
}

ngx_int_t get_variable(ngx_http_request_t* r, ngx_http_variable_value_t* value,
                       uintptr_t index) noexcept {
    return set_value(r, value, [&](const RequestContext* context) {
        const Variable& variable = variables[index];
        if (context != nullptr) {
            return variable.read(*context);
        }
        return view(variable.name) == "tollgate_verdict" ? Value(name_of(Verdict::kNone)) : Value();
    });
}

/// `name` points to the name of the variable.
ngx_int_t get_meta(ngx_http_request_t* r, ngx_http_variable_value_t* value,
                   uintptr_t name) noexcept {
    return set_value(r, value, [&](const RequestContext* context) {
        // NOLINTNEXTLINE(performance-no-int-to-ptr): nginx keeps the data of a variable as a number
        const auto variable = view(*reinterpret_cast<const ngx_str_t*>(name));
        return context == nullptr ? Value() : meta_member(context->outcome(), variable);
    });
}

}  // namespace

ngx_int_t add_variables(ngx_conf_t* cf) noexcept {
    for (std::size_t i = 0; i < variables.size(); ++i) {
        // Not cacheable: a variable that is read before the access phase would keep its early
        // value.
        ngx_http_variable_t* added =
            ngx_http_add_variable(cf, &variables[i].name, NGX_HTTP_VAR_NOCACHEABLE);
        if (added == nullptr) {
            return NGX_ERROR;
        }
        added->get_handler = get_variable;
        added->data = i;
    }
    ngx_http_variable_t* meta =
        ngx_http_add_variable(cf, &meta_prefix, NGX_HTTP_VAR_NOCACHEABLE | NGX_HTTP_VAR_PREFIX);
    if (meta == nullptr) {
        return NGX_ERROR;
    }
    meta->get_handler = get_meta;
    return NGX_OK;
}

}  // namespace tollgate::http
