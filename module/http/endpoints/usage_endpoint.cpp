#include "module/http/endpoints/endpoints.hpp"

#include <string>

#include "module/http/request/request_context.hpp"
#include "module/report/usage_json.hpp"

namespace tollgate::http {

namespace {

/// The usage of the request's key. It is empty if `satisfy any` let the request pass before its key
/// was checked.
std::string usage_of(const ngx_http_request_t* r) {
    const RequestContext* context = RequestContext::find(r);
    if (context == nullptr) {
        return usage_json({});
    }
    const engine::Outcome& outcome = context->outcome();
    const auto flights = context->admission().flights();
    return usage_json({.id = outcome.key().id,
                       .plan = context->admission().plan(),
                       .verdict = outcome.verdict,
                       .windows = outcome.windows,
                       .flights = flights});
}

}  // namespace

ngx_int_t handle_usage(ngx_http_request_t* r) noexcept {
    return guarded(r, [&] {
        const ngx_int_t rc = allow_reading_only(r);
        return rc == NGX_OK ? send_text(r, "application/json", usage_of(r)) : rc;
    });
}

}  // namespace tollgate::http
