// Decides whether a request may pass: by the node's own leases and counts, or by Redis. The steps
// before, in authentication.cpp, find the record of its key. Those during an outage are in
// failure_policy.cpp.

#include "module/gateway/admission.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "module/gateway/address_budget.hpp"
#include "module/gateway/engine.hpp"
#include "module/gateway/loaded_states.hpp"
#include "module/key/scopes.hpp"
#include "module/quota/shown_windows.hpp"

namespace tollgate::gateway {

namespace {

// RFC 9110 section 15.5 and 15.6, RFC 6585 section 4.
constexpr int kStatusUnauthorized = 401;
constexpr int kStatusForbidden = 403;
constexpr int kStatusTooManyRequests = 429;
constexpr int kStatusServiceUnavailable = 503;

/// `Retry-After` of a 503, in seconds.
constexpr std::int64_t kRetryUnavailable = 1;
/// `Retry-After` if the key is not looked up: see AddressBudgets::admits_look_up.
constexpr std::int64_t kRetryLookUp = 1;

}  // namespace

Admission::Admission(TableSet& tables, Client& client, const Options& options)
    : tables_(tables), client_(client), options_(options), cost_(options.cost.value_or(1)) {}

void Admission::start(std::optional<std::string_view> token) noexcept {
    guard([&] { authenticate(token); });
}

void Admission::bypass() noexcept {
    grant(Verdict::kBypassed);
}

void Admission::forbid(const Error& error) noexcept {
    finish(Verdict::kForbidden, kStatusForbidden, error);
}

void Admission::forbid(const Error& error, std::shared_ptr<const KeyRecord> record) noexcept {
    outcome_.record = std::move(record);
    forbid(error);
}

void Admission::abandon() noexcept {
    leave_lookup();
    AcquireWaiter::leave_list();
}

void Admission::time_out() noexcept {
    // Its acquire may still be decided, or may have been already.
    may_have_struck_ = true;
    abandon();
    guard([&] { apply_failure_policy(); });
}

std::optional<Error> Admission::refusal_in(const TableSet& tables, std::string_view scopes) const {
    if (!contains_scopes(outcome_.key().scopes, scopes)) {
        return kInsufficientScope;
    }
    if (&tables.engine() != &engine() || !tables.has_plan(outcome_.key().plan)) {
        return kPlanNotAllowed;
    }
    return std::nullopt;
}

/// Decides the request by a valid key, without its quotas.
void Admission::decide_by_key() {
    if (const auto refusal = refusal_in(tables_, options_.scopes)) {
        forbid(*refusal);
    } else {
        grant(Verdict::kGranted);
    }
}

void Admission::run(Next next) {
    if (next == Next::kAdmit) {
        note_use();
        if (options_.checks_key_only) {
            decide_by_key();
            return;
        }
        if (!has_scopes()) {
            forbid(kInsufficientScope);
            return;
        }
        if (!options_.cost) {
            cost_ = client_.cost();
        }
        next = admit(engine().clock().steady());
    }
    if (asks_unreachable_redis(next)) {
        apply_failure_policy();
        return;
    }
    switch (next) {
        case Next::kLookUp:
            look_up();
            break;
        case Next::kRefuseKey:
            refuse_key(kInvalidApiKey);
            break;
        case Next::kForbid:
            forbid(kPlanNotAllowed);
            break;
        case Next::kGrant:
            grant(Verdict::kGranted);
            break;
        case Next::kAcquire:
            engine().acquires().submit(*this, request_);
            break;
        case Next::kAdmit:
        case Next::kDecided:
            conclude(local_, Verdict::kGranted);
            break;
        case Next::kDecidedAlone:
            conclude(local_, Verdict::kDegraded);
            break;
        case Next::kUnavailable:
            refuse_unavailable();
            break;
    }
}

/// The bounds of the clock that counts the id's quotas. Not to be called with a lock of the zone:
/// the clock of a master that is new to this worker is found under another one.
ClockBounds Admission::clock_bounds(ExactSteadyTime time) const {
    return engine().clock_bounds(engine().slot_of(request_.id), time);
}

bool Admission::asks_unreachable_redis(Next next) const {
    const Transport& transport = engine().transport();
    switch (next) {
        case Next::kLookUp:
            return !transport.is_reachable(engine().slot_of(sought_.digest));
        case Next::kAcquire:
            return !transport.is_reachable(engine().slot_of(request_.id));
        default:
            return false;
    }
}

/// Finds the quotas of a valid key, and decides the request if that needs no Redis.
Admission::Next Admission::admit(ExactSteadyTime time) {
    if (known_ == nullptr && !choose_quotas()) {
        return Next::kForbid;
    }
    if (request_.quotas->empty()) {
        return Next::kGrant;
    }
    request_.demand.changed =
        engine().zone().last_change(sought_.redis, sought_.digest, request_.id_hash);
    const ClockBounds now = clock_bounds(time);
    const LockedStripe stripe(engine().zone(), request_.id_hash);
    LoadedStates states(stripe, engine(), request_);
    const bool is_changed = known_ != nullptr && take_back(states, now.steady);
    const Next next = decide_locally(states, now);
    if (next == Next::kAcquire && counts_alone()) {
        return count_alone(states, now);  // The states are loaded, under the lock.
    }
    if (next == Next::kAcquire && is_changed) {
        states.save(now.steady);
    }
    return next;
}

/// Adds what this worker has decided in its own memory. False if that was nothing.
bool Admission::take_back(LoadedStates& states, SteadyTime now) {
    const std::int64_t refused = known_->refusal.take_count();
    if (refused == 0 && !known_->slice.is_taken()) {
        return false;
    }
    if (refused > 0) {
        note_arrivals(states, *request_.quotas, request_.demand, refused, now);
    }
    known_->slice.end(states, *request_.quotas, request_.demand, now);
    return true;
}

/// False if the key's plan is not in every table, or its limits are invalid.
bool Admission::choose_quotas() {
    request_.quotas = tables_.quotas_of(outcome_.key());
    if (!request_.quotas) {
        return false;
    }
    describe_demand();
    return true;
}

void Admission::describe_demand() {
    request_.id = outcome_.key().id;
    request_.api_key = sought_.hash();
    request_.demand.cost = options_.is_free ? 0 : cost_;
    outcome_.cost = request_.demand.cost;
    // A key without limits is never refused, also if its units are counted.
    request_.demand.ban = have_limit(*request_.quotas) ? tables_.ban() : std::nullopt;
    request_.demand.refusals_strike = options_.refusals_strike && !may_have_struck_;
}

Admission::Next Admission::decide_locally(LoadedStates& states, const ClockBounds& now) {
    const Demand& demand = request_.demand;
    const LocalAnswer answer = decide(states, *request_.quotas, demand, now);
    if (answer == LocalAnswer::kAsk) {
        return Next::kAcquire;  // The acquire notes the arrival.
    }
    keep_decision(answer, states, now);
    note_arrivals(states, *request_.quotas, demand, 1, now.steady);
    if (known_ != nullptr) {
        keep_for_next(answer, states, now);
    }
    states.save(now.steady);
    RedisStatistics& statistics = engine().statistics();
    (answer == LocalAnswer::kGranted ? statistics["quota_decisions.lease"]
                                     : statistics["quota_decisions.refusal"])
        .add();
    return Next::kDecided;
}

/// Lets this worker decide the key's next requests in its own memory: from a slice of the lease
/// that has granted this one, or by repeating the refusal.
void Admission::keep_for_next(LocalAnswer answer, LoadedStates& states, const ClockBounds& now) {
    ClockBounds shown = now;
    shown.exact = local_.now;
    if (answer == LocalAnswer::kGranted) {
        engine().slices().take(*known_, states, local_.windows, shown);
    } else {
        known_->refusal.set(answer, request_.demand, states, local_.windows, shown);
    }
}

/// Stores a local decision, which is applied after the stripe is unlocked.
void Admission::keep_decision(LocalAnswer answer, LoadedStates& states, const ClockBounds& time) {
    const std::span<const QuotaState> shown = states;
    const ClockBounds now = no_earlier_than_replies(time, shown);
    local_ = {.answer = answer,
              .windows = windows_of(shown, *request_.quotas, now, request_.demand.cost,
                                    answer != LocalAnswer::kGranted),
              .now = now.exact,
              .banned_until = shown.front().ban.until};
}

void Admission::conclude(Decision& decision, Verdict granted) {
    outcome_.quotas = std::move(request_.quotas);
    outcome_.windows = std::move(decision.windows);
    outcome_.now = decision.now;
    switch (decision.answer) {
        case LocalAnswer::kAsk:
        case LocalAnswer::kGranted:
            grant(granted);
            break;
        case LocalAnswer::kLimited:
            refuse_limited(retry_after(outcome_.now, retry_at(outcome_.windows)));
            break;
        case LocalAnswer::kBanned:
            outcome_.retry_after = retry_after(outcome_.now, decision.banned_until);
            finish(Verdict::kBanned, kStatusTooManyRequests, kApiKeyBanned);
            break;
    }
}

void Admission::on_decision(Decision decision) noexcept {
    engine().statistics()["quota_decisions.redis"].add();
    guard([&] { conclude(decision, Verdict::kGranted); });
}

void Admission::on_retry() noexcept {
    guard([&] {
        run([&] {
            const ClockBounds now = clock_bounds(engine().clock().steady());
            const LockedStripe stripe(engine().zone(), request_.id_hash);
            LoadedStates states(stripe, engine(), request_);
            return decide_locally(states, now);
        }());
    });
}

void Admission::on_unavailable(AcquireFailure failure) noexcept {
    may_have_struck_ = failure == AcquireFailure::kUnknown;
    guard([&] { apply_failure_policy(); });
}

/// Refuses a missing or invalid key, and charges the address's budget.
void Admission::refuse_key(const Error& error) {
    outcome_.record = nullptr;
    const Instant now = engine().clock().wall();
    outcome_.now = now;
    outcome_.windows = charge_address(engine().zone(), tables_.budget(), client_.address(), 1, now);
    if (std::ranges::any_of(outcome_.windows, &WindowState::exhausted)) {
        refuse_limited(retry_after(outcome_.now, outcome_.binding()->reset));
    } else {
        finish(Verdict::kUnauthenticated, kStatusUnauthorized, error);
    }
}

/// Too many keys of this address were looked up within the last second: Redis is not asked.
void Admission::refuse_look_up() {
    const Instant now = engine().clock().wall();
    outcome_.now = now;
    outcome_.windows = charge_address(engine().zone(), tables_.budget(), client_.address(), 0, now);
    refuse_limited(kRetryLookUp);
}

void Admission::refuse_limited(std::int64_t retry_after) noexcept {
    outcome_.retry_after = retry_after;
    finish(Verdict::kLimited, kStatusTooManyRequests, kRateLimitExceeded);
}

void Admission::refuse_unavailable() noexcept {
    outcome_.retry_after = kRetryUnavailable;
    finish(Verdict::kUnavailable, kStatusServiceUnavailable, kServiceUnavailable);
}

void Admission::finish(Verdict verdict, int status, const Error& error) noexcept {
    outcome_.verdict = verdict;
    outcome_.status = status;
    outcome_.error = error;
    client_.on_outcome();
}

}  // namespace tollgate::gateway
