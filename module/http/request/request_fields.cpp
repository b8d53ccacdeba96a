#include <algorithm>
#include <span>

#include "module/http/config/location_conf.hpp"
#include "module/http/request/authorization.hpp"
#include "module/http/request/phase_handlers.hpp"
#include "module/http/request/request_context.hpp"

namespace tollgate::http {

namespace {

/// Stands in the pool of a request that came to a guarded location.
struct MeantForGuarded {};

/// Whether the key is still there though the request was meant for a guarded location: nginx
/// refused it before Tollgate had its turn.
bool carries_key_to_error_page(const ngx_http_request_t* r) {
    // nginx looks at the body's length as soon as it has found the location: that may be any.
    const bool too_large = r->err_status == NGX_HTTP_REQUEST_ENTITY_TOO_LARGE;
    return r == r->main && RequestContext::find(r) == nullptr &&
           (too_large || find_pooled<MeantForGuarded>(r->pool) != nullptr);
}

/// A handler of NGX_HTTP_PRECONTENT_PHASE, before `mirror` makes its copy of the request.
ngx_int_t remove_before_content(ngx_http_request_t* r) noexcept {
    const LocationConf& conf = LocationConf::of(r);
    const RequestContext* context = RequestContext::find(r);
    if (context != nullptr && context->is_stripped(conf.forward_authorization != 0)) {
        return NGX_DECLINED;
    }
    if (conf.tables == nullptr && !carries_key_to_error_page(r)) {
        return NGX_DECLINED;
    }
    return guarded(r->connection->log, static_cast<ngx_int_t>(NGX_HTTP_INTERNAL_SERVER_ERROR), [&] {
        strip_request_fields(r, conf.forward_authorization != 0);
        return static_cast<ngx_int_t>(NGX_DECLINED);
    });
}

/// A handler of NGX_HTTP_LOG_PHASE, before the one that writes access logs.
ngx_int_t remove_before_log(ngx_http_request_t* r) noexcept {
    const RequestContext* context = RequestContext::find(r);
    if (context != nullptr && context->is_stripped(false)) {
        return NGX_OK;
    }
    // A request that nginx refused before it looked for a location may have been meant for any.
    const bool lost = r->phase_handler == 0 && r->err_status >= NGX_HTTP_BAD_REQUEST;
    if (!lost && LocationConf::of(r).tables == nullptr && context == nullptr) {
        return NGX_OK;
    }
    return guarded(r->connection->log, static_cast<ngx_int_t>(NGX_ERROR), [&] {
        strip_request_fields(r, false);
        return static_cast<ngx_int_t>(NGX_OK);
    });
}

}  // namespace

ngx_int_t note_guarded(ngx_http_request_t* r) noexcept {
    if (r != r->main || LocationConf::of(r).tables == nullptr ||
        find_pooled<MeantForGuarded>(r->pool) != nullptr) {
        return NGX_DECLINED;
    }
    return guarded(r->connection->log, static_cast<ngx_int_t>(NGX_HTTP_INTERNAL_SERVER_ERROR), [&] {
        make_pooled<MeantForGuarded>(r->pool);
        return static_cast<ngx_int_t>(NGX_DECLINED);
    });
}

bool add_field_stripping(ngx_conf_t* cf) {
    // The handlers of most phases run from the last added to the first, those of the log from the
    // first.
    const auto logging = add_phase_handler(cf, NGX_HTTP_LOG_PHASE, remove_before_log);
    if (logging.empty()) {
        return false;
    }
    std::rotate(logging.begin(), logging.end() - 1, logging.end());
    return !add_phase_handler(cf, NGX_HTTP_PRECONTENT_PHASE, remove_before_content).empty();
}

}  // namespace tollgate::http
