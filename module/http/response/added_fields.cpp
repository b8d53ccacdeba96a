#include <algorithm>
#include <span>
#include <string>
#include <vector>

#include "module/http/request/request_context.hpp"
#include "module/http/response/response_filter.hpp"
#include "module/http/shared_memory.hpp"
#include "module/http/worker.hpp"
#include "module/key/challenge.hpp"
#include "module/report/rate_limit_fields.hpp"
#include "module/text/ascii.hpp"

namespace tollgate::http {

namespace {

/// Removes the fields of these names that the upstream set: nginx does not send a field whose hash
/// is 0.
void drop_fields(ngx_http_request_t* r, bool (*is_dropped)(std::string_view name)) {
    for_each_field(r->headers_out.headers, [&](ngx_table_elt_t& field) {
        if (is_dropped(view(field.key))) {
            field.hash = 0;
        }
    });
}

/// The values of these fields. The pool of the request owns them.
struct XRateLimitDigits : nginx::Recycled {
    XRateLimitDigits(const nginx::Digits& of_limit, const nginx::Digits& of_remaining,
                     const nginx::Digits& of_reset)
        : limit(of_limit), remaining(of_remaining), reset(of_reset) {}

    nginx::Digits limit;
    nginx::Digits remaining;
    nginx::Digits reset;
};

/// The name of a field for windows of this unit: `NAME`, or `NAME-UNIT` in the pool of the request.
std::string_view name_for(ngx_http_request_t* r, std::string_view name, std::string_view unit) {
    return unit == kRequests ? name
                             : view(copy(r->pool, std::string(name).append("-").append(unit)));
}

/// Adds the fields of the binding window of each unit: those of requests, and for another unit the
/// same names with the unit after them.
void add_x_rate_limit_fields(ngx_http_request_t* r, std::span<const WindowState> windows) {
    // Most responses of a worker have the limit and the reset of the one before.
    static nginx::KeptDigits limit;
    static nginx::KeptDigits reset;
    for (auto window = windows.begin(); window != windows.end(); ++window) {
        const auto is_of_unit = [&](const WindowState& other) {
            return have_same_unit(other, *window);
        };
        if (std::find_if(windows.begin(), window, is_of_unit) != window) {
            continue;
        }
        const WindowState& binding = *binding_window(windows, *window);
        const auto& digits = *make_pooled<XRateLimitDigits>(r->pool, limit.of(binding.rate.limit()),
                                                            nginx::Digits(binding.remaining),
                                                            reset.of(unix_seconds(binding.reset)));
        const std::string_view unit = binding.unit;
        // A node does not know what was credited to a balance, which never resets.
        const bool is_balance = binding.rate.is_balance();
        if (!is_balance) {
            add_literal_field(r, name_for(r, "X-RateLimit-Limit", unit), digits.limit.view());
        }
        add_literal_field(r, name_for(r, "X-RateLimit-Remaining", unit), digits.remaining.view());
        if (!is_balance) {
            add_literal_field(r, name_for(r, "X-RateLimit-Reset", unit), digits.reset.view());
        }
    }
}

void add_rate_limit_fields(ngx_http_request_t* r, ngx_uint_t families,
                           std::span<const WindowState> windows, ExactInstant now,
                           std::span<const FlightState> flights = {}) {
    if (families == kNoHeaders || (windows.empty() && flights.empty())) {
        return;
    }
    if ((families & kXRateLimit) != 0) {
        add_x_rate_limit_fields(r, windows);
    }
    if ((families & kIetf) != 0) {
        // A balance has no policy: its limit is what was credited.
        if (const auto policy = rate_limit_policy_field(windows, flights); !policy.empty()) {
            add_field(r, "RateLimit-Policy", policy);
        }
        if (const auto rest = rate_limit_field(windows, flights, now); !rest.empty()) {
            add_field(r, "RateLimit", rest);
        }
    }
}

/// Adds the `anonymous` budget of the client's address. For clients whose own quota is not known:
/// they sent no key, their key could not be looked up, or the request failed before its key was
/// checked.
void add_anonymous_fields(ngx_http_request_t* r, const LocationConf& conf) {
    const Instant now = node_time();
    Worker& worker = Worker::of(r);
    engine::AnonymousBudgets& budgets = worker.client(*conf.tables).engine().anonymous();
    const auto windows =
        budgets.charge(worker.tables(*conf.tables).budget(), address_of(r), 0, now);
    add_rate_limit_fields(r, conf.headers, windows, now);
}

void add_retry_after(ngx_http_request_t* r, const engine::Outcome& outcome) {
    if (outcome.retry_after != 0) {
        drop_fields(r, [](auto name) { return equals_ignoring_case(name, "Retry-After"); });
        add_field(r, "Retry-After", outcome.retry_after);
    }
}

void add_challenge(ngx_http_request_t* r, const RequestContext& context) {
    const engine::Outcome& outcome = context.outcome();
    const bool lacks_scope = outcome.error.code == kInsufficientScope.code;
    const bool is_own = r->headers_out.status == static_cast<ngx_uint_t>(outcome.status);
    if (!is_own || (outcome.status != NGX_HTTP_UNAUTHORIZED && !lacks_scope)) {
        return;
    }
    const LocationConf& conf = context.conf();
    Challenge challenge{.realm = conf.realm_of(r), .field = conf.key_from->challenge_field()};
    if (lacks_scope) {
        challenge.error = kInsufficientScope.code;
        challenge.scope = context.scopes();
    } else if (outcome.key_was_sent) {
        challenge.error = "invalid_token";
    }
    r->headers_out.www_authenticate = add_field(r, "WWW-Authenticate", challenge_text(challenge));
}

/// Whether modules that limit requests refuse them with this status. `limit_req` does so before a
/// key is checked: the fields of another limit would contradict it.
bool is_status_of_limit(ngx_uint_t status) {
    return status == NGX_HTTP_TOO_MANY_REQUESTS || status == NGX_HTTP_SERVICE_UNAVAILABLE;
}

void add_rate_limit_fields(ngx_http_request_t* r, const RequestContext* context) {
    const bool is_decided = context != nullptr && context->outcome().is_decided();
    const LocationConf& conf = is_decided ? context->conf() : LocationConf::of(r);
    if (conf.tables == nullptr ||
        (is_decided && context->outcome().verdict == Verdict::kBypassed)) {
        return;
    }
    if (conf.headers != kNoHeaders) {
        drop_fields(r, is_rate_limit_field);
    }
    if (!is_decided && is_status_of_limit(r->headers_out.status)) {
        return;
    }
    if (!is_decided ||
        (context->outcome().windows.empty() && !context->outcome().quotas && context->refuses())) {
        add_anonymous_fields(r, conf);
    } else {
        // Only these fields show them, and reading them takes a lock of the zone.
        const auto flights = (conf.headers & kIetf) != 0 ? context->admission().flights()
                                                         : std::vector<FlightState>();
        add_rate_limit_fields(r, conf.headers, context->outcome().windows, context->outcome().now,
                              flights);
    }
}

/// Runs a step. If it throws, the response is sent without the fields that the step adds.
template <typename Step>
void attempt(const ngx_http_request_t* r, Step step) noexcept {
    guarded(r->connection->log, false, [&] {
        step();
        return true;
    });
}

}  // namespace

void add_response_fields(ngx_http_request_t* r) noexcept {
    const RequestContext* context = RequestContext::find(r);
    attempt(r, [&] { add_rate_limit_fields(r, context); });
    if (context != nullptr && context->refuses()) {
        attempt(r, [&] { add_retry_after(r, context->outcome()); });
        attempt(r, [&] { add_challenge(r, *context); });
    }
}

}  // namespace tollgate::http
