#include "module/http/decision.hpp"

#include <algorithm>

#include "module/core/bearer.hpp"
#include "module/core/parse_error.hpp"
#include "module/http/anonymous_budget.hpp"
#include "module/http/authorization.hpp"
#include "module/http/clock.hpp"
#include "module/http/key_waiter.hpp"
#include "module/http/redis_client.hpp"
#include "module/redis/key_lookup.hpp"

namespace tollgate::http {

namespace {

/// A request that Redis is too late for may come back this soon, in seconds.
constexpr std::int64_t kRetryUnavailable = 1;

bool is_valid_now(const KeyRecord& record) {
    return record.is_valid_at(std::chrono::floor<std::chrono::seconds>(node_time()));
}

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
    if (key_waiter_ != nullptr) {
        std::exchange(key_waiter_, nullptr)->detach();
    }
    leave();
}

void Decision::time_out() {
    abandon();
    started_ = false;
    unavailable();
}

void Decision::bypass() {
    grant(Verdict::kBypassed);
}

void Decision::forbid() {
    settle(Verdict::kForbidden, NGX_HTTP_FORBIDDEN, kPlanNotAllowed);
}

bool Decision::has_place_in(const TableSet& tables) const {
    return tables.redis == conf_.tables->redis &&
           std::ranges::all_of(tables.tables, [&](const PlanTable* table) {
               return table->find(key_.plan) != nullptr;
           });
}

void Decision::start() {
    authenticate();
    if (settled()) {
        return;
    }
    started_ = true;
    // Run when the request is terminated: before its pool is destroyed, which may be long after.
    ngx_http_cleanup_t* cleanup = ngx_http_cleanup_add(r_, 0);
    if (cleanup == nullptr) {
        throw std::bad_alloc();
    }
    cleanup->handler = [](void* data) { static_cast<Decision*>(data)->abandon(); };
    cleanup->data = this;
}

void Decision::authenticate() {
    const auto field = authorization_of(r_);
    const Credentials credentials = parse_bearer(field.value_or(""));
    key_was_sent_ = credentials.kind != Credentials::Kind::kMissing;
    if (!key_was_sent_) {
        unauthenticated(kMissingApiKey);
    } else if (credentials.kind == Credentials::Kind::kToken) {
        identify(credentials.token);
    } else {
        unauthenticated(kInvalidApiKey);
    }
}

void Decision::identify(std::string_view token) {
    sought_ = {conf_.tables->redis->name_hash, sha256(token)};
    const Next next = [&] {
        const LockedZone zone(MainConf::of(r_));
        return recall(zone);
    }();
    // It spares Redis the keys that nobody was given; one that was found before was checked then.
    const bool made_up = next == Next::kLookUp && key_.id.empty() && !has_valid_checksum(token);
    proceed(made_up ? Next::kRefuseKey : next);
}

/// Looks for the key in what the node knows.
Decision::Next Decision::recall(const LockedZone& zone) {
    KeyCacheStatistics& statistics = client().statistics().keys;
    const SteadyTime now = steady_time();
    KeyCache::Found found;
    const auto is_current = [&] {
        const auto changed = std::max(zone.changes().last(sought_.redis, sought_.digest),
                                      zone.changes().last(sought_.redis, found.id));
        return found.checked > changed;
    };
    if (!zone.keys().find(sought_, now, found) || !is_current()) {
        return Next::kLookUp;
    }
    const bool fresh = client().is_fresh(found.checked, now);
    if (fresh) {
        (found.exists ? statistics.hits : statistics.negative_hits).add();
    }
    if (!found.exists || !is_valid_now(found.record)) {
        return fresh ? Next::kRefuseKey : Next::kLookUp;
    }
    key_ = std::move(found.record);
    request_.id_hash = found.id;
    is_known_ = now - found.checked < conf_.tables->redis->stale_keys;
    if (!fresh) {
        return Next::kLookUp;
    }
    return conf_.has_fixed_cost() ? admit(zone, now) : Next::kAdmit;
}

void Decision::look_up() {
    const RedisConf& redis = *conf_.tables->redis;
    if (!client().connection().is_reachable()) {
        unavailable();
        return;
    }
    client().statistics().keys.misses.add();
    client().statistics().lookups.add();
    auto waiter = std::make_unique<KeyWaiter>(*this);
    key_waiter_ = waiter.get();
    client().connection().run({&redis::lookup_script(), {redis.keys.key(hex(sought_.digest))}},
                              std::move(waiter));
}

void Decision::take_record(const redis::Lookup& lookup, SteadyTime asked) {
    using Outcome = redis::Lookup::Outcome;
    if (lookup.outcome == Outcome::kMalformed) {
        ngx_log_error(NGX_LOG_ERR, r_->connection->log, 0,
                      "tollgate: malformed record of a key in Redis");
    }
    const bool good = lookup.outcome == Outcome::kFound && is_valid_now(lookup.record);
    {
        const LockedZone zone(MainConf::of(r_));
        if (lookup.outcome == Outcome::kFound) {
            zone.keys().put(sought_, lookup.record, asked);
        } else {
            zone.keys().put_unknown(sought_, asked);
        }
    }
    is_known_ = good;
    key_ = good ? lookup.record : KeyRecord{};
    request_.id_hash = id_hash(key_.id);
    proceed(good ? Next::kAdmit : Next::kRefuseKey);
}

/// Finds the quotas of a key that is good, and decides if that can be done at once.
Decision::Next Decision::admit(const LockedZone& zone, SteadyTime time) {
    if (!choose_quotas()) {
        return Next::kForbid;
    }
    if (request_.quotas->empty()) {
        return Next::kGrant;
    }
    request_.demand.changed = zone.changes().last(sought_.redis, request_.id_hash);
    const Moment now = client().moment(zone, time);
    LoadedStates states(zone, client(), request_.id_hash, *request_.quotas);
    return decide_locally(states, now);
}

/// What the key may do here; false where its plan has no place.
bool Decision::choose_quotas() {
    try {
        request_.quotas = conf_.tables->choices->find(key_);
    } catch (const ParseError& e) {
        ngx_str_t id = borrow(key_.id);
        ngx_log_error(NGX_LOG_ERR, r_->connection->log, 0, "tollgate: limits of key \"%V\": %s",
                      &id, e.what());
    }
    if (!request_.quotas) {
        return false;
    }
    // What was refused before it came to Tollgate is here for the operator's page alone: that is
    // free.
    const bool for_error_page = r_->err_status >= NGX_HTTP_BAD_REQUEST;
    request_.id = key_.id;
    request_.demand.cost = for_error_page ? 0 : cost_;
    request_.demand.ban = conf_.tables->ban;
    request_.demand.refusals_strike = conf_.dry_run == 0;
    return true;
}

Decision::Next Decision::decide_locally(LoadedStates& states, const Moment& now) {
    const auto& [id, hash, quotas, demand] = request_;
    const LocalAnswer answer = decide(states, *quotas, demand, now);
    if (answer == LocalAnswer::kAsk) {
        return Next::kAcquire;  // which notes the arrival
    }
    note_arrivals(states, demand, 1, now.steady);
    states.save(now.steady);
    RedisStatistics& statistics = client().statistics();
    if (answer == LocalAnswer::kGranted) {
        statistics.decisions.by_lease.add();
        statistics.leases.spent.add(static_cast<std::uint64_t>(demand.cost));
    } else {
        statistics.decisions.by_refusal.add();
    }
    show(answer, states, now);
    return Next::kDecided;
}

/// Keeps what was decided from the node's own knowledge.
void Decision::show(LocalAnswer answer, LoadedStates& states, const Moment& time) {
    const auto& demand = request_.demand;
    const std::span<const QuotaState> shown = states;
    const Moment now = once_told(time, shown);
    local_ = {.answer = answer,
              .windows = windows_of(shown, *request_.quotas, now, demand.cost,
                                    answer != LocalAnswer::kGranted),
              .now = now.earliest,
              .banned_until = shown.front().banned_until};
    if (answer != LocalAnswer::kGranted && needs_settling(shown, now)) {
        client().acquirer().settle_later(request_);
    }
}

void Decision::proceed(Next next) {
    if (next == Next::kAdmit) {
        cost_ = conf_.cost_of(r_);
        const LockedZone zone(MainConf::of(r_));
        next = admit(zone, steady_time());
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

template <typename Step>
void Decision::resume(Step step) noexcept {
    const bool done = guarded(r_->connection->log, false, [&] {
        step();
        return true;
    });
    if (!done) {
        settle(Verdict::kUnavailable, NGX_HTTP_SERVICE_UNAVAILABLE, kServiceUnavailable);
    }
}

void Decision::on_record(const redis::Lookup& lookup, SteadyTime asked) noexcept {
    key_waiter_ = nullptr;
    resume([&] { take_record(lookup, asked); });
}

void Decision::on_decided(Decided decided) noexcept {
    client().statistics().decisions.by_redis.add();
    resume([&] { follow(decided, Verdict::kGranted); });
}

void Decision::on_retry() noexcept {
    resume([&] {
        proceed([&] {
            const LockedZone zone(MainConf::of(r_));
            LoadedStates states(zone, client(), request_.id_hash, *request_.quotas);
            return decide_locally(states, client().moment(zone, steady_time()));
        }());
    });
}

void Decision::on_unavailable() noexcept {
    key_waiter_ = nullptr;
    resume([&] { unavailable(); });
}

void Decision::unauthenticated(const Error& error) {
    key_ = {};
    now_ = node_time();
    windows_ = charge_anonymous(r_, *conf_.tables, 1, now_);
    const bool exhausted = std::ranges::any_of(windows_, &WindowState::exhausted);
    if (exhausted) {
        retry_after_ = tollgate::retry_after(now_, binding()->reset);
        settle(Verdict::kLimited, NGX_HTTP_TOO_MANY_REQUESTS, kRateLimitExceeded);
    } else {
        settle(Verdict::kUnauthenticated, NGX_HTTP_UNAUTHORIZED, error);
    }
}

/// Redis can't be asked: what then holds is the operator's choice.
void Decision::unavailable() {
    const FailurePolicy policy = conf_.tables->redis->on_failure;
    if (policy == FailurePolicy::kDeny || !is_known_) {
        retry_after_ = kRetryUnavailable;
        settle(Verdict::kUnavailable, NGX_HTTP_SERVICE_UNAVAILABLE, kServiceUnavailable);
    } else if (!has_place_in(*conf_.tables)) {
        forbid();
    } else if (policy == FailurePolicy::kAllow) {
        grant(Verdict::kDegraded);
    } else {
        decide_alone();
    }
}

/// Counts on in the zone, for Redis to be told when it is back.
void Decision::decide_alone() {
    cost_ = conf_.cost_of(r_);
    if (!choose_quotas()) {
        forbid();
        return;
    }
    if (request_.quotas->empty()) {
        grant(Verdict::kDegraded);
        return;
    }
    {
        const LockedZone zone(MainConf::of(r_));
        const Moment now = client().moment(zone, steady_time());
        LoadedStates states(zone, client(), request_.id_hash, *request_.quotas);
        const auto answer = tollgate::decide_alone(states, *request_.quotas, request_.demand, now);
        note_arrivals(states, request_.demand, 1, now.steady);
        states.save(now.steady);
        show(answer, states, now);
        client().statistics().decisions.alone.add();
        if (answer == LocalAnswer::kGranted) {
            client().statistics().owed.add(static_cast<std::uint64_t>(request_.demand.cost));
            client().acquirer().settle_later(request_);
        }
    }
    follow(local_, Verdict::kDegraded);
}

void Decision::settle(Verdict verdict, ngx_int_t status, const Error& error) {
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

void Decision::log_refusal() {
    ngx_str_t code = borrow(error_.code);
    ngx_str_t id = borrow(key_.id);
    ngx_str_t plan = borrow(key_.plan);
    ngx_log_error(conf_.log_level, r_->connection->log, 0,
                  "tollgate refuses the request%s: %V, key \"%V\", plan \"%V\"",
                  conf_.dry_run ? ", dry run" : "", &code, &id, &plan);
}

}  // namespace tollgate::http
