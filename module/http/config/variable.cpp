#include "module/http/config/variable.hpp"

#include <algorithm>
#include <iterator>

#include "module/http/config/directive.hpp"
#include "module/text/ascii.hpp"

namespace tollgate::http {

std::string parse_variable(std::string_view word) {
    if (word.size() < 2 || word.front() != '$') {
        throw ParseError("invalid variable name " + in_quotes(word));
    }
    std::string name;
    std::ranges::transform(word.substr(1), std::back_inserter(name), to_lower);
    return name;
}

ngx_http_variable_t& define_variable(ngx_conf_t* cf, std::string_view name, ngx_uint_t flags,
                                     ngx_http_get_variable_pt get) {
    ngx_str_t text = borrow(name);
    ngx_http_variable_t* variable =
        ngx_http_add_variable(cf, &text, NGX_HTTP_VAR_NOCACHEABLE | flags);
    if (variable == nullptr) {
        throw LoggedConfError();
    }
    if (variable->get_handler != nullptr && variable->get_handler != get) {
        throw ParseError("the variable \"$" + std::string(name) + "\" is set by another directive");
    }
    variable->get_handler = get;
    return *variable;
}

std::string_view name_of_variable(uintptr_t data) {
    // NOLINTNEXTLINE(performance-no-int-to-ptr): nginx keeps the data of a variable as a number
    return view(*reinterpret_cast<const ngx_str_t*>(data));
}

void set_variable(ngx_http_request_t* r, ngx_http_variable_value_t* value,
                  std::optional<std::string_view> text) {
    if (!text) {
        value->not_found = 1;
        return;
    }
    const ngx_str_t kept = copy(r->pool, *text);
    value->data = kept.data;
    value->len = kept.len;
    value->valid = 1;
    value->no_cacheable = 0;
    value->not_found = 0;
}

}  // namespace tollgate::http
