#include "module/http/request/authorization.hpp"

#include <algorithm>
#include <span>

#include "module/http/config/main_conf.hpp"
#include "module/report/rate_limit_fields.hpp"

namespace tollgate::http {

namespace {

/// Calls `use` with each field of a list.
template <typename Use>
void for_each_field(const ngx_list_t& list, Use use) {
    for (const auto* part = &list.part; part != nullptr; part = part->next) {
        for (const auto& field :
             std::span(static_cast<const ngx_table_elt_t*>(part->elts), part->nelts)) {
            use(field);
        }
    }
}

}  // namespace

std::optional<std::string_view> authorization_of(const ngx_http_request_t* r) {
    if (r->headers_in.authorization == nullptr) {
        return std::nullopt;
    }
    return view(r->headers_in.authorization->value);
}

void strip_request_fields(ngx_http_request_t* r, bool forward_authorization) {
    const auto is_stripped = [&](const ngx_table_elt_t& field) {
        // lowcase_key is the name in lower case, which nginx compares too.
        const auto name = view({field.key.len, field.lowcase_key});
        return (!forward_authorization && name == "authorization") || is_rate_limit_field(name);
    };
    ngx_uint_t all = 0;
    ngx_uint_t stripped = 0;
    for_each_field(r->headers_in.headers, [&](const ngx_table_elt_t& field) {
        ++all;
        stripped += is_stripped(field) ? 1 : 0;
    });
    if (stripped == 0) {
        return;
    }
    // Elements of nginx's lists can't be removed, and r->headers_in points to some of them (`host`
    // and others). So the elements stay in memory, and the list becomes a copy without the stripped
    // fields. Later readers, such as proxy_pass, read the copy.
    ngx_list_t kept{};
    if (ngx_list_init(&kept, r->pool, std::max<ngx_uint_t>(all - stripped, 1),
                      sizeof(ngx_table_elt_t)) != NGX_OK) {
        throw std::bad_alloc();
    }
    for_each_field(r->headers_in.headers, [&](const ngx_table_elt_t& field) {
        if (!is_stripped(field)) {
            *static_cast<ngx_table_elt_t*>(ngx_list_push(&kept)) = field;
        }
    });
    r->headers_in.headers = kept;
    // `last` must point to the part inside the copied list object.
    r->headers_in.headers.last = &r->headers_in.headers.part;
    if (!forward_authorization) {
        r->headers_in.authorization = nullptr;
        // $http_authorization may already be cached, for example by an `if`. Without this, the
        // access log would print the cached value.
        auto& kept_value = r->variables[MainConf::of(r).authorization_index];
        kept_value.valid = 0;
        kept_value.not_found = 0;
    }
}

}  // namespace tollgate::http
