#include <algorithm>
#include <span>
#include <string_view>

#include "module/http/request/handlers.hpp"
#include "module/http/request/key_fields.hpp"
#include "module/http/request/request_context.hpp"
#include "module/http/worker.hpp"
#include "module/key/field_substitute.hpp"
#include "module/text/ascii.hpp"

namespace tollgate::http {

namespace {

constexpr std::string_view kHttp = "http_";

/// nginx's handler of the variables of header fields, which has no public name. All configurations
/// of a process have the same.
ngx_http_get_variable_pt read_field = nullptr;

/// Whether `$http_VARIABLE` is the variable of this field. Both are in lower case.
bool names_field(std::string_view variable, std::string_view field) {
    return std::ranges::equal(variable, field,
                              [](char a, char b) { return a == b || (a == '_' && b == '-'); });
}

/// What stands for a field that was removed from the request.
ngx_str_t substitute(ngx_http_request_t* r, std::string_view sent) {
    const RequestContext* context = RequestContext::find(r);
    const std::string_view id =
        context == nullptr ? std::string_view() : std::string_view(context->outcome().key().id);
    return copy(r->pool, field_substitute(Worker::of(r).zone().field_secret(), {sent, id}));
}

/// The handler of all `$http_…`. A field that may have a key is seldom the same for two requests of
/// one pool, see removed_value: its variable is not cacheable.
ngx_int_t get_field(ngx_http_request_t* r, ngx_http_variable_value_t* value,
                    uintptr_t name) noexcept {
    // NOLINTNEXTLINE(performance-no-int-to-ptr): nginx keeps the data of a variable as a number
    const auto variable = view(*reinterpret_cast<const ngx_str_t*>(name)).substr(kHttp.size());
    const auto& fields = MainConf::of(r).key_fields;
    const auto found = std::ranges::find_if(
        fields, [&](const KeyField& field) { return names_field(variable, field.name); });
    if (found == fields.end()) {
        return read_field(r, value, name);
    }
    return guarded(r->connection->log, static_cast<ngx_int_t>(NGX_ERROR), [&] {
        const auto sent = removed_value(r, found->name);
        const ngx_int_t rc = sent ? NGX_OK : read_field(r, value, name);
        if (sent) {
            const ngx_str_t text = substitute(r, *sent);
            value->data = text.data;
            value->len = text.len;
            value->valid = 1;
            value->not_found = 0;
        }
        value->no_cacheable = 1;
        return rc;
    });
}

}  // namespace

bool substitute_removed_fields(ngx_conf_t* cf) {
    const auto* core = static_cast<const ngx_http_core_main_conf_t*>(
        ngx_http_conf_get_module_main_conf(cf, ngx_http_core_module));
    for (ngx_http_variable_t& variable :
         std::span(static_cast<ngx_http_variable_t*>(core->prefix_variables.elts),
                   core->prefix_variables.nelts)) {
        if (view(variable.name) == kHttp) {
            read_field = variable.get_handler;
            variable.get_handler = get_field;
            return true;
        }
    }
    ngx_log_error(NGX_LOG_EMERG, cf->log, 0, "tollgate: nginx has no \"http_\" variables");
    return false;
}

}  // namespace tollgate::http
