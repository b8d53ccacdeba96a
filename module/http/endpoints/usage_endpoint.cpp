#include "module/http/endpoints/usage_endpoint.hpp"

#include <string>
#include <vector>

#include "module/http/decision.hpp"
#include "module/http/response/response.hpp"
#include "module/report/usage_json.hpp"

namespace tollgate::http {

namespace {

/// The quotas that the decision's windows are of; none where the key, or its quota, isn't known.
std::vector<TableQuota> quotas_of(const Decision& decision) {
    if (decision.key().id.empty() || decision.windows().empty()) {
        return {};
    }
    return choose_quotas(decision.conf().tables->tables, decision.key())
        .value_or(std::vector<TableQuota>{});
}

/// Where `satisfy any` let a request pass before its key was looked at, there is no decision, and
/// nothing is known of the caller.
std::string usage_of(const ngx_http_request_t* r) {
    const Decision* decision = Decision::find(r);
    if (decision == nullptr) {
        return usage_json({});
    }
    const auto quotas = quotas_of(*decision);
    return usage_json({.id = decision->key().id,
                       .plan = decision->key().plan,
                       .verdict = decision->verdict(),
                       .quotas = quotas,
                       .windows = decision->windows()});
}

}  // namespace

ngx_int_t handle_usage(ngx_http_request_t* r) noexcept {
    return guarded(r->connection->log, static_cast<ngx_int_t>(NGX_HTTP_INTERNAL_SERVER_ERROR), [&] {
        const ngx_int_t rc = allow_reading_only(r);
        return rc == NGX_OK ? send_text(r, "application/json", usage_of(r)) : rc;
    });
}

}  // namespace tollgate::http
