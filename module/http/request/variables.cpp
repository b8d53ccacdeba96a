#include "module/http/request/handlers.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "module/http/config/variable.hpp"
#include "module/http/request/request_context.hpp"
#include "module/key/meta.hpp"

namespace tollgate::http {

namespace {

using engine::Outcome;
using Value = std::optional<std::string>;

Value unless_empty(const std::string& text) {
    return text.empty() ? Value() : Value(text);
}

template <typename Read>
Value of_binding(const Outcome& outcome, Read read) {
    const WindowState* window = outcome.binding();
    return window == nullptr ? Value() : Value(std::to_string(read(*window)));
}

/// What windows have and a balance has not.
template <typename Read>
Value unless_balance(const Outcome& outcome, Read read) {
    const WindowState* window = outcome.binding();
    return window != nullptr && window->rate.is_balance() ? Value() : of_binding(outcome, read);
}

constexpr std::string_view kVariablePrefix = "tollgate_";
constexpr std::string_view kMetaPrefix = "tollgate_meta_";
constexpr std::string_view kCostPrefix = "tollgate_cost_";

/// A variable's name, and its value for a request; empty if it has none.
struct Variable {
    std::string_view name;
    Value (*read)(const RequestContext&);
};

constexpr std::array<Variable, 15> kVariables{{
    {"tollgate_key_id", [](const RequestContext& c) { return unless_empty(c.outcome().key().id); }},
    {"tollgate_key_name",
     [](const RequestContext& c) { return unless_empty(c.outcome().key().name); }},
    {"tollgate_plan",
     [](const RequestContext& c) { return unless_empty(std::string(c.admission().plan())); }},
    {"tollgate_group",
     [](const RequestContext& c) { return unless_empty(c.outcome().key().group); }},
    {"tollgate_scopes",
     [](const RequestContext& c) { return unless_empty(c.outcome().key().scopes); }},
    {"tollgate_key_from",
     [](const RequestContext& c) { return unless_empty(std::string(c.key_from())); }},
    {"tollgate_verdict",
     [](const RequestContext& c) { return Value(name_of(c.outcome().verdict)); }},
    {"tollgate_reason",
     [](const RequestContext& c) {
         return unless_empty(std::string(name_of(c.outcome().invalid.fault)));
     }},
    {"tollgate_invalid_key_id",
     [](const RequestContext& c) { return unless_empty(c.outcome().invalid.id); }},
    {"tollgate_limited_by",
     [](const RequestContext& c) { return unless_empty(c.outcome().limiter().text()); }},
    {"tollgate_over",
     [](const RequestContext& c) { return unless_empty(exceeded(c.outcome().windows)); }},
    {"tollgate_cost",
     [](const RequestContext& c) {
         return c.outcome().cost ? Value(std::to_string(c.outcome().cost->of(0).units)) : Value();
     }},
    {"tollgate_limit",
     [](const RequestContext& c) {
         return unless_balance(c.outcome(), [](const WindowState& w) { return w.rate.limit(); });
     }},
    {"tollgate_remaining",
     [](const RequestContext& c) {
         return of_binding(c.outcome(), [](const WindowState& w) { return w.remaining; });
     }},
    {"tollgate_reset",
     [](const RequestContext& c) {
         return unless_balance(c.outcome(),
                               [](const WindowState& w) { return unix_seconds(w.reset); });
     }},
}};

/// The member of the key's meta that the name of a variable ends with.
Value meta_member(const Outcome& outcome, std::string_view variable) {
    if (outcome.key().meta.empty()) {
        return std::nullopt;
    }
    const Meta meta = parse_meta(outcome.key().meta);
    const auto member = meta.find(variable.substr(kMetaPrefix.size()));
    return member == meta.end() ? Value() : Value(meta_text(member->second));
}

/// Whether the name of a variable ends with the name of this table: in lower case, with `_` for
/// what is no letter or digit, as nginx names the variables of header fields.
bool names_table(std::string_view variable, std::string_view table) {
    return std::ranges::equal(variable.substr(kCostPrefix.size()), table, {}, {}, [](char c) {
        const auto byte = static_cast<unsigned char>(c);
        return std::isalnum(byte) != 0 ? static_cast<char>(std::tolower(byte)) : '_';
    });
}

/// The cost in the table that the name of a variable ends with; nothing if the location does not
/// use it.
Value cost_in_table(const RequestContext& context, std::string_view variable) {
    const auto tables = context.admission().tables().tables();
    const auto table = std::ranges::find_if(
        tables, [&](const PlanTable* of) { return names_table(variable, of->name); });
    if (!context.outcome().cost || table == tables.end()) {
        return std::nullopt;
    }
    const auto index = static_cast<std::size_t>(table - tables.begin());
    return std::to_string(context.outcome().cost->of(index).units);
}

Value value_of(std::string_view name, const RequestContext* context) {
    if (name.starts_with(kCostPrefix)) {
        return context == nullptr ? Value() : cost_in_table(*context, name);
    }
    if (name.starts_with(kMetaPrefix)) {
        return context == nullptr ? Value() : meta_member(context->outcome(), name);
    }
    if (context != nullptr) {
        const auto* row = std::ranges::find(kVariables, name, &Variable::name);
        return row == kVariables.end() ? Value() : row->read(*context);
    }
    return name == "tollgate_verdict" ? Value(name_of(Verdict::kNone)) : Value();
}

/// `name` points to the name of the variable.
ngx_int_t get_variable(ngx_http_request_t* r, ngx_http_variable_value_t* value,
                       uintptr_t name) noexcept {
    return guarded(r->connection->log, static_cast<ngx_int_t>(NGX_ERROR), [&] {
        set_variable(r, value, value_of(name_of_variable(name), RequestContext::find(r)));
        return NGX_OK;
    });
}

/// Whether a variable is the cost in a plan table of the configuration.
bool is_cost_of_table(ngx_conf_t* cf, std::string_view name) {
    return name.starts_with(kCostPrefix) &&
           std::ranges::any_of(MainConf::of(cf).tables, [&](const auto& conf) {
               return names_table(name, conf->table.name);
           });
}

/// Whether this module or another directive (`set`, `map`, …) defines the variable.
bool is_defined(std::span<const ngx_hash_key_t> keys, std::string_view name) {
    return std::ranges::any_of(keys, [&](const ngx_hash_key_t& key) {
        return view(key.key) == name &&
               static_cast<const ngx_http_variable_t*>(key.value)->get_handler != nullptr;
    });
}

}  // namespace

ngx_int_t add_variables(ngx_conf_t* cf) noexcept {
    // Not cacheable: a variable that is read before the access phase would keep its early value.
    const auto add = [&](std::string_view text, ngx_uint_t flags) -> ngx_http_variable_t* {
        ngx_str_t name = borrow(text);
        ngx_http_variable_t* added =
            ngx_http_add_variable(cf, &name, NGX_HTTP_VAR_NOCACHEABLE | flags);
        if (added != nullptr) {
            added->get_handler = get_variable;
            added->data = reinterpret_cast<uintptr_t>(&added->name);
        }
        return added;
    };
    for (const Variable& variable : kVariables) {
        if (add(variable.name, NGX_HTTP_VAR_NOHASH) == nullptr) {
            return NGX_ERROR;
        }
    }
    return add(kVariablePrefix, NGX_HTTP_VAR_PREFIX) == nullptr ? NGX_ERROR : NGX_OK;
}

bool check_variables(ngx_conf_t* cf) {
    const auto* core = static_cast<const ngx_http_core_main_conf_t*>(
        ngx_http_conf_get_module_main_conf(cf, ngx_http_core_module));
    const std::span keys(static_cast<const ngx_hash_key_t*>(core->variables_keys->keys.elts),
                         core->variables_keys->keys.nelts);
    const std::span used(static_cast<const ngx_http_variable_t*>(core->variables.elts),
                         core->variables.nelts);
    for (const ngx_http_variable_t& variable : used) {
        const auto name = view(variable.name);
        const bool is_known = name.starts_with(kMetaPrefix) || is_cost_of_table(cf, name);
        if (name.starts_with(kVariablePrefix) && !is_known && !is_defined(keys, name)) {
            ngx_str_t unknown = variable.name;
            ngx_log_error(NGX_LOG_EMERG, cf->log, 0, "unknown \"%V\" variable", &unknown);
            return false;
        }
    }
    return true;
}

}  // namespace tollgate::http
