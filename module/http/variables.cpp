#include "module/http/variables.hpp"

#include <array>
#include <optional>
#include <string>

#include "module/http/request/request_context.hpp"

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

/// A variable's name, and its value for an outcome; empty if it has none.
struct Variable {
    ngx_str_t name;
    Value (*read)(const Outcome&);
};

std::array<Variable, 8> variables{{
    {ngx_string("tollgate_key_id"), [](const Outcome& o) { return unless_empty(o.key().id); }},
    {ngx_string("tollgate_key_name"), [](const Outcome& o) { return unless_empty(o.key().name); }},
    {ngx_string("tollgate_plan"), [](const Outcome& o) { return unless_empty(o.key().plan); }},
    {ngx_string("tollgate_verdict"), [](const Outcome& o) { return Value(name_of(o.verdict)); }},
    {ngx_string("tollgate_cost"),
     [](const Outcome& o) { return o.cost ? Value(std::to_string(*o.cost)) : Value(); }},
    {ngx_string("tollgate_limit"),
     [](const Outcome& o) {
         return of_binding(o, [](const WindowState& w) { return w.rate.requests; });
     }},
    {ngx_string("tollgate_remaining"),
     [](const Outcome& o) {
         return of_binding(o, [](const WindowState& w) { return w.remaining; });
     }},
    {ngx_string("tollgate_reset"),
     [](const Outcome& o) {
         return of_binding(o, [](const WindowState& w) { return unix_seconds(w.reset); });
     }},
}};

ngx_int_t get_variable(ngx_http_request_t* r, ngx_http_variable_value_t* value,
                       uintptr_t index) noexcept {
    return guarded(r->connection->log, static_cast<ngx_int_t>(NGX_ERROR), [&] {
        const RequestContext* context = RequestContext::find(r);
        const Variable& variable = variables[index];
        Value text;
        if (context != nullptr) {
            text = variable.read(context->outcome());
        } else if (view(variable.name) == "tollgate_verdict") {
            text = name_of(Verdict::kNone);
        }
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
    return NGX_OK;
}

}  // namespace tollgate::http
