#include <algorithm>
#include <span>

#include "module/http/config/location_conf.hpp"
#include "module/http/request/key_fields.hpp"
#include "module/http/request/phase_handlers.hpp"
#include "module/http/request/request_context.hpp"

namespace tollgate::http {

namespace {

/// Marks a request that reached a guarded location. It is stored in the request's pool.
struct MeantForGuarded {};

/// Whether the request goes to an error page with its key, because nginx rejected it before the
/// access handler of a guarded location ran.
bool carries_key_to_error_page(const ngx_http_request_t* r) {
    // nginx checks the body's length before note_guarded runs, so any location may have been the
    // original one.
    const bool too_large = r->err_status == NGX_HTTP_REQUEST_ENTITY_TOO_LARGE;
    return r == r->main && RequestContext::find(r) == nullptr &&
           (too_large || find_pooled<MeantForGuarded>(r->pool) != nullptr);
}

/// The fields with keys in any location: the request may have been meant for any.
std::span<const KeyField> all_fields_of(ngx_http_request_t* r) {
    return MainConf::of(r).key_fields;
}

/// A handler of NGX_HTTP_PRECONTENT_PHASE, before `mirror` makes its copy of the request.
ngx_int_t remove_before_content(ngx_http_request_t* r) noexcept {
    const LocationConf& conf = LocationConf::of(r);
    const RequestContext* context = RequestContext::find(r);
    if (context != nullptr && context->is_stripped(conf.stripped_fields())) {
        return NGX_DECLINED;
    }
    const bool is_guarded = conf.tables != nullptr;
    if (!is_guarded && !carries_key_to_error_page(r)) {
        return NGX_DECLINED;
    }
    return guarded(r, [&] {
        const bool is_any = !is_guarded && conf.forward_authorization == 0;
        strip_request_fields(r, is_any ? all_fields_of(r) : conf.stripped_fields());
        return static_cast<ngx_int_t>(NGX_DECLINED);
    });
}

/// A handler of NGX_HTTP_LOG_PHASE, before the one that writes access logs.
ngx_int_t remove_before_log(ngx_http_request_t* r) noexcept {
    const RequestContext* context = RequestContext::find(r);
    const std::span fields = all_fields_of(r);
    if (context != nullptr && context->is_stripped(fields)) {
        return NGX_OK;
    }
    // nginx rejected the request before it looked for a location, which may have been a guarded
    // one.
    const bool lost = r->phase_handler == 0 && r->err_status >= NGX_HTTP_BAD_REQUEST;
    if (!lost && LocationConf::of(r).tables == nullptr && context == nullptr) {
        return NGX_OK;
    }
    return guarded(r->connection->log, static_cast<ngx_int_t>(NGX_ERROR), [&] {
        strip_request_fields(r, fields);
        return static_cast<ngx_int_t>(NGX_OK);
    });
}

}  // namespace

ngx_int_t note_guarded(ngx_http_request_t* r) noexcept {
    if (r != r->main || LocationConf::of(r).tables == nullptr ||
        find_pooled<MeantForGuarded>(r->pool) != nullptr) {
        return NGX_DECLINED;
    }
    return guarded(r, [&] {
        make_pooled<MeantForGuarded>(r->pool);
        return static_cast<ngx_int_t>(NGX_DECLINED);
    });
}

bool add_field_stripping(ngx_conf_t* cf) {
    // Most phases run their handlers from the last added to the first, the log phase from the first
    // to the last.
    const auto logging = add_phase_handler(cf, NGX_HTTP_LOG_PHASE, remove_before_log);
    if (logging.empty()) {
        return false;
    }
    std::rotate(logging.begin(), logging.end() - 1, logging.end());
    return !add_phase_handler(cf, NGX_HTTP_PRECONTENT_PHASE, remove_before_content).empty();
}

}  // namespace tollgate::http
