#include "module/http/decision.hpp"

#include <algorithm>

#include "module/http/anonymous_budget.hpp"
#include "module/http/clock.hpp"
#include "module/http/loaded_states.hpp"
#include "module/http/redis_client.hpp"

namespace tollgate::http {

namespace {

/// When a request that Redis is too late for may come again, in seconds.
constexpr std::int64_t kRetryUnavailable = 1;
/// The same of a key that is not looked up: see AddressBudgets::admits_look_up.
constexpr std::int64_t kRetryLookUp = 1;

}  // namespace

Decision* Decision::find(const ngx_http_request_t* r) {
    auto* decision =
        static_cast<Decision*>(ngx_http_get_module_ctx(r->main, ngx_http_tollgate_module));
    return decision != nullptr ? decision : find_pooled<Decision>(r->main->pool);
}

Decision& Decision::make(ngx_http_request_t* r, const LocationConf& conf) {
    auto* decision = make_pooled<Decision>(r->pool, r, conf);
    ngx_http_set_ctx(r, decision, ngx_http_tollgate_module);
    return *decision;
}

Decision::Decision(ngx_http_request_t* r, const LocationConf& conf) : r_(r), conf_(conf) {}

Decision::~Decision() {
    abandon();
}

void Decision::abandon() noexcept {
    leave_lookup();
    leave();
}

void Decision::time_out() noexcept {
    abandon();
    started_ = false;  // The caller runs the request.
    resume([&] { unavailable(); });
}

void Decision::bypass() {
    grant(Verdict::kBypassed);
}

void Decision::forbid() {
    settle(Verdict::kForbidden, NGX_HTTP_FORBIDDEN, kPlanNotAllowed);
}

void Decision::start() noexcept {
    resume([&] {
        authenticate();
        if (settled()) {
            return;
        }
        // Run when the request is terminated: before its pool is destroyed, which may be long
        // after.
        ngx_http_cleanup_t* cleanup = ngx_http_cleanup_add(r_, 0);
        if (cleanup == nullptr) {
            throw std::bad_alloc();
        }
        cleanup->handler = [](void* data) { static_cast<Decision*>(data)->abandon(); };
        cleanup->data = this;
    });
    started_ = !settled();
}

void Decision::proceed(Next next) {
    if (next == Next::kAdmit) {
        cost_ = conf_.cost_of(r_);
        const LockedZone zone(MainConf::of(r_));
        next = admit(zone, exact_steady_time());
    }
    const bool asks = next == Next::kLookUp || next == Next::kAcquire;
    if (asks && !client().connection().is_reachable()) {
        unavailable();
        return;
    }
    switch (next) {
        case Next::kLookUp:
            look_up();
            break;
        case Next::kRefuseKey:
            unauthenticated(kInvalidApiKey);
            break;
        case Next::kForbid:
            forbid();
            break;
        case Next::kGrant:
            grant(Verdict::kGranted);
            break;
        case Next::kAcquire:
            client().acquirer().submit(*this, request_);
            break;
        case Next::kAdmit:
        case Next::kDecided:
            follow(local_, Verdict::kGranted);
            break;
    }
}

void Decision::follow(Decided& decided, Verdict granted) {
    windows_ = std::move(decided.windows);
    now_ = decided.now;
    switch (decided.answer) {
        case LocalAnswer::kAsk:
        case LocalAnswer::kGranted:
            grant(granted);
            break;
        case LocalAnswer::kLimited:
            retry_after_ = tollgate::retry_after(now_, binding()->reset);
            settle(Verdict::kLimited, NGX_HTTP_TOO_MANY_REQUESTS, kRateLimitExceeded);
            break;
        case LocalAnswer::kBanned:
            retry_after_ = tollgate::retry_after(now_, decided.banned_until);
            settle(Verdict::kBanned, NGX_HTTP_TOO_MANY_REQUESTS, kApiKeyBanned);
            break;
    }
}

/// Runs a step. Where it throws, the request waits for nothing any more and gets 503.
template <typename Step>
void Decision::resume(Step step) noexcept {
    const bool done = guarded(r_->connection->log, false, [&] {
        step();
        return true;
    });
    if (!done) {
        abandon();
        refuse_unavailable();
    }
}

/// Where the address has spent its budget, few keys are looked up that may be made up.
bool Decision::on_turn() noexcept {
    bool is_admitted = true;
    resume([&] {
        is_admitted = !may_be_made_up_ || admits_look_up(r_, *conf_.tables, node_time());
        if (!is_admitted) {
            limit_look_ups();
        }
    });
    return !settled();
}

void Decision::on_record(const redis::Lookup& lookup) noexcept {
    conf_.tables->redis->statistics->keys.misses.add();
    resume([&] { take_record(lookup); });
}

void Decision::on_lookup_failed() noexcept {
    conf_.tables->redis->statistics->keys.misses.add();
    resume([&] { unavailable(); });
}

void Decision::on_decided(Decided decided) noexcept {
    client().statistics().decisions.by_redis.add();
    resume([&] { follow(decided, Verdict::kGranted); });
}

void Decision::on_retry() noexcept {
    resume([&] {
        proceed([&] {
            const LockedZone zone(MainConf::of(r_));
            LoadedStates states(zone, client(), request_);
            return decide_locally(states, client().moment(zone, exact_steady_time()));
        }());
    });
}

void Decision::on_unavailable() noexcept {
    resume([&] { unavailable(); });
}

void Decision::unauthenticated(const Error& error) {
    key_ = {};
    const Instant now = node_time();
    now_ = now;
    windows_ = charge_anonymous(r_, *conf_.tables, 1, now);
    const bool exhausted = std::ranges::any_of(windows_, &WindowState::exhausted);
    if (exhausted) {
        retry_after_ = tollgate::retry_after(now_, binding()->reset);
        settle(Verdict::kLimited, NGX_HTTP_TOO_MANY_REQUESTS, kRateLimitExceeded);
    } else {
        settle(Verdict::kUnauthenticated, NGX_HTTP_UNAUTHORIZED, error);
    }
}

/// Too many keys from this address were looked up within the last second. Redis is not asked.
void Decision::limit_look_ups() {
    const Instant now = node_time();
    now_ = now;
    windows_ = charge_anonymous(r_, *conf_.tables, 0, now);
    retry_after_ = kRetryLookUp;
    settle(Verdict::kLimited, NGX_HTTP_TOO_MANY_REQUESTS, kRateLimitExceeded);
}

void Decision::refuse_unavailable() noexcept {
    retry_after_ = kRetryUnavailable;
    settle(Verdict::kUnavailable, NGX_HTTP_SERVICE_UNAVAILABLE, kServiceUnavailable);
}

/// Redis can't be asked: what then holds is the operator's choice.
void Decision::unavailable() {
    const FailurePolicy policy = conf_.tables->redis->on_failure;
    if (policy == FailurePolicy::kDeny || !is_known_) {
        refuse_unavailable();
    } else if (!has_place_in(*conf_.tables)) {
        forbid();
    } else if (policy == FailurePolicy::kAllow) {
        grant(Verdict::kDegraded);
    } else {
        decide_alone();
    }
}

void Decision::settle(Verdict verdict, ngx_int_t status, const Error& error) noexcept {
    verdict_ = verdict;
    status_ = status;
    error_ = error;
    if (status != 0) {
        log_refusal();
    }
    if (started_) {
        // Not run from here, inside of the reader of replies: it may end, and take other requests
        // with it.
        ngx_post_event(r_->connection->write, &ngx_posted_events);
    }
}

void Decision::log_refusal() noexcept {
    ngx_str_t code = borrow(error_.code);
    ngx_str_t id = borrow(key_.id);
    ngx_str_t plan = borrow(key_.plan);
    ngx_log_error(conf_.log_level, r_->connection->log, 0,
                  "tollgate refuses the request%s: %V, key \"%V\", plan \"%V\"",
                  conf_.dry_run ? ", dry run" : "", &code, &id, &plan);
}

}  // namespace tollgate::http
