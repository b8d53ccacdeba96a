#include "module/http/config/complex_value.hpp"

#include "module/http/config/directive.hpp"

namespace tollgate::http {

ngx_http_complex_value_t compile(ngx_conf_t* cf, std::string_view text) {
    ngx_str_t value = copy(cf->pool, text);
    ngx_http_complex_value_t compiled{};
    ngx_http_compile_complex_value_t compilation{};
    compilation.cf = cf;
    compilation.value = &value;
    compilation.complex_value = &compiled;
    if (ngx_http_compile_complex_value(&compilation) != NGX_OK) {
        throw LoggedConfError();
    }
    return compiled;
}

std::optional<std::string_view> evaluate(ngx_http_request_t* r, ngx_http_complex_value_t* value) {
    ngx_str_t text{};
    if (ngx_http_complex_value(r, value, &text) != NGX_OK) {
        return std::nullopt;
    }
    return view(text);
}

}  // namespace tollgate::http
