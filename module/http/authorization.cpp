#include "module/http/authorization.hpp"

#include <algorithm>
#include <array>
#include <span>

namespace tollgate::http {

namespace {

constexpr std::array<std::string_view, 5> kGatewayFields{
    "x-ratelimit-limit", "x-ratelimit-remaining", "x-ratelimit-reset",
    "ratelimit",         "ratelimit-policy",
};

/// nginx's own entry for Authorization. What it does comes first; it is the same in every cycle.
ngx_http_header_t* nginx_entry = nullptr;

/// A field whose value is cut to its scheme for a while.
struct HiddenToken {
    ngx_table_elt_t* field;
    ngx_str_t value;
};

ngx_int_t take_and_hide(ngx_http_request_t* r, ngx_table_elt_t* field, ngx_uint_t offset) noexcept {
    const ngx_int_t rc = nginx_entry->handler(r, field, offset);
    if (rc != NGX_OK) {
        return rc;
    }
    return guarded(r->connection->log, static_cast<ngx_int_t>(NGX_ERROR), [&]() -> ngx_int_t {
        make_pooled<HiddenToken>(r->pool, HiddenToken{field, field->value});
        const auto scheme = view(field->value).find(' ');
        field->value.len = scheme == std::string_view::npos ? 0 : scheme;
        return NGX_OK;
    });
}

/// The hash's slot that holds this entry: nginx's hash has no function to replace a value.
void** find_slot(const ngx_hash_t& hash, const void* entry) {
    for (ngx_hash_elt_t* bucket : std::span(hash.buckets, hash.size)) {
        while (bucket != nullptr && bucket->value != nullptr) {
            if (bucket->value == entry) {
                return &bucket->value;
            }
            auto* next = ngx_align_ptr(&bucket->name[0] + bucket->len, sizeof(void*));
            bucket = reinterpret_cast<ngx_hash_elt_t*>(next);
        }
    }
    return nullptr;
}

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

std::string_view lowercase_name(const ngx_table_elt_t& field) {
    return {reinterpret_cast<const char*>(field.lowcase_key), field.key.len};
}

}  // namespace

bool hide_authorization_from_log(ngx_conf_t* cf) noexcept {
    auto* core = static_cast<ngx_http_core_main_conf_t*>(
        ngx_http_conf_get_module_main_conf(cf, ngx_http_core_module));
    u_char name[] = "authorization";
    const std::size_t length = sizeof(name) - 1;
    auto* entry = static_cast<ngx_http_header_t*>(
        ngx_hash_find(&core->headers_in_hash, ngx_hash_key(name, length), name, length));
    void** slot = find_slot(core->headers_in_hash, entry);
    auto* ours = static_cast<ngx_http_header_t*>(ngx_palloc(cf->pool, sizeof(ngx_http_header_t)));
    if (entry == nullptr || slot == nullptr || ours == nullptr) {
        ngx_log_error(NGX_LOG_EMERG, cf->log, 0,
                      "tollgate: can't take over the Authorization field");
        return false;
    }
    nginx_entry = entry;
    *ours = *entry;
    ours->handler = take_and_hide;
    *slot = ours;
    return true;
}

ngx_int_t restore_authorization(ngx_http_request_t* r) noexcept {
    if (r->headers_in.authorization != nullptr) {
        const auto* hidden = find_pooled<HiddenToken>(r->pool);
        if (hidden != nullptr && hidden->field == r->headers_in.authorization) {
            hidden->field->value = hidden->value;
        }
    }
    return NGX_DECLINED;
}

std::optional<std::string_view> authorization_of(const ngx_http_request_t* r) {
    if (r->headers_in.authorization == nullptr) {
        return std::nullopt;
    }
    return view(r->headers_in.authorization->value);
}

void strip_request_fields(ngx_http_request_t* r, bool forward_authorization) {
    const auto is_stripped = [&](const ngx_table_elt_t& field) {
        const auto name = lowercase_name(field);
        return (!forward_authorization && name == "authorization") ||
               std::ranges::find(kGatewayFields, name) != kGatewayFields.end();
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
    // nginx's lists can't lose an element, and pointers lead into this one (r->headers_in.host and
    // its like): it stays where it is, and what is read in order from now on, by proxy_pass above
    // all, is a copy.
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
    // The list's last part is the one in its own head, which has moved.
    r->headers_in.headers.last = &r->headers_in.headers.part;
    if (!forward_authorization) {
        r->headers_in.authorization = nullptr;
    }
}

}  // namespace tollgate::http
