#include "module/http/config/complex_value.hpp"

#include <algorithm>

#include "module/http/config/directive.hpp"
#include "module/text/ascii.hpp"

namespace tollgate::http {

namespace {

constexpr bool is_name_character(char c) {
    return c == '_' || (to_lower(c) >= 'a' && to_lower(c) <= 'z') || (c >= '0' && c <= '9');
}

}  // namespace

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

std::optional<std::string_view> evaluate(ngx_http_request_t* r,
                                         const ngx_http_complex_value_t* value) {
    ngx_str_t text{};
    if (ngx_http_complex_value(r, const_cast<ngx_http_complex_value_t*>(value), &text) != NGX_OK) {
        return std::nullopt;
    }
    return view(text);
}

bool has_variable(std::string_view text, std::string_view name) {
    for (auto at = text.find('$'); at != std::string_view::npos; at = text.find('$', at + 1)) {
        auto rest = text.substr(at + 1);
        rest.remove_prefix(rest.starts_with('{') ? 1 : 0);
        const auto end = std::ranges::find_if_not(rest, is_name_character);
        const auto found = rest.substr(0, static_cast<std::size_t>(end - rest.begin()));
        if (equals_ignoring_case(found.substr(0, name.size()), name) &&
            (name.ends_with('_') || found.size() == name.size())) {
            return true;
        }
    }
    return false;
}

}  // namespace tollgate::http
