#include "module/http/response/cached_copies.hpp"

#include <algorithm>
#include <string_view>

#include "module/http/config/location_conf.hpp"
#include "module/http/request/key_fields.hpp"
#include "module/text/ascii.hpp"

namespace tollgate::http {

#if (NGX_HTTP_CACHE)

namespace {

/// Whether a list of names, as in `Vary`, has this one, in any case.
bool names(std::string_view list, std::string_view name) {
    while (!list.empty()) {
        const auto first = list.substr(0, list.find_first_of(", "));
        if (equals_ignoring_case(first, name)) {
            return true;
        }
        list.remove_prefix(std::min(first.size() + 1, list.size()));
    }
    return false;
}

bool varies_by_removed_field(ngx_http_request_t* r) {
    const LocationConf& conf = LocationConf::of(r);
    const std::span here =
        conf.tables == nullptr ? std::span<const KeyField>() : conf.stripped_fields();
    const std::string_view vary = view(r->cache->vary);
    return std::ranges::any_of(MainConf::of(r).key_fields, [&](const KeyField& field) {
        return names(vary, field.name) &&
               (std::ranges::find(here, field.name, &KeyField::name) != here.end() ||
                removed_value(r, field.name));
    });
}

}  // namespace

void forbid_shared_copy(ngx_http_request_t* r) noexcept {
    ngx_http_upstream_t* upstream = r->upstream;
    if (upstream == nullptr || r->cache == nullptr || upstream->cacheable == 0 ||
        r->cache->vary.len == 0) {
        return;
    }
    // If memory is short, the response is not kept either.
    const bool is_shared =
        guarded(r->connection->log, true, [&] { return varies_by_removed_field(r); });
    if (is_shared) {
        upstream->cacheable = 0;
    }
}

#else

void forbid_shared_copy(ngx_http_request_t* /*r*/) noexcept {}

#endif

}  // namespace tollgate::http
