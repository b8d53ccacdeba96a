#include "module/engine/admission.hpp"

#include <algorithm>
#include <utility>

#include "module/engine/engine.hpp"
#include "module/key/scopes.hpp"
#include "module/plan/cost_cut.hpp"

namespace tollgate::engine {

namespace {

// RFC 9110 section 15.5 and 15.6, RFC 6585 section 4.
constexpr int kStatusBadRequest = 400;
constexpr int kStatusUnauthorized = 401;
constexpr int kStatusForbidden = 403;
constexpr int kStatusTooManyRequests = 429;
constexpr int kStatusServiceUnavailable = 503;

/// `Retry-After` of a 503, in seconds.
constexpr std::int64_t kRetryUnavailable = 1;
/// `Retry-After` if too many requests are in flight: one of them may end at any time.
constexpr std::int64_t kRetryInFlight = 1;
/// `Retry-After` if the key is not looked up: see AddressBudgets::admits_lookup.
constexpr std::int64_t kRetryLookup = 1;

}  // namespace

Admission::Admission(Engine& engine, TableSet& tables, Client& client, const Options& options)
    : context_(engine),
      identity_(engine.identity()),
      flights_(engine.flights()),
      anonymous_(engine.anonymous()),
      tables_(tables),
      client_(client),
      options_(options),
      authenticator_(identity_, tables),
      group_(identity_, tables),
      quota_(engine.quotas()) {}

void Admission::start(std::optional<std::string_view> token) noexcept {
    guard([&] {
        outcome_.key_was_sent = token.has_value();
        if (!token) {
            refuse_key(options_.missing_key);
            return;
        }
        const ExactSteadyTime now = context_.clock().steady();
        continue_with(authenticator_.find(*token, now), now);
    });
}

void Admission::start(const Subject& subject) noexcept {
    guard([&] {
        if (!is_valid_subject(subject)) {
            forbid(kInvalidSubject);
            return;
        }
        const ExactSteadyTime now = context_.clock().steady();
        continue_with({Authenticator::Result::kValid, authenticator_.find(subject, now)}, now);
    });
}

void Admission::forbid(const Error& error, std::shared_ptr<const KeyRecord> record) noexcept {
    outcome_.record = std::move(record);
    forbid(error);
}

void Admission::refuse_as(const Outcome& outcome) {
    outcome_ = outcome;
    client_.on_outcome();
}

void Admission::abandon() noexcept {
    leave_lookup();
    AcquireWaiter::leave_list();
    FlightWaiter::leave_list();
}

void Admission::settle(const Cost& used) {
    if (!settles()) {
        return;
    }
    is_settled_ = true;
    const Cost reserved = *std::exchange(outcome_.cost, used);
    const auto counting = std::exchange(outcome_.counting, {});
    if (counting.empty()) {
        return;  // no quota has counted it
    }
    const auto units = [&](const Cost& cost) {
        std::uint64_t sum = 0;
        for (std::size_t i = 0; i < std::max(reserved.size(), used.size()); ++i) {
            sum += reserved.of(i).settles ? static_cast<std::uint64_t>(cost.of(i).units) : 0;
        }
        return sum;
    };
    context_.statistics()["cost_units.reserved"].add(units(reserved));
    context_.statistics()["cost_units.settled"].add(units(used));
    if (used != reserved) {
        quota_.settle(outcome_.quotas, counting, tables_.cost_of(*outcome_.quotas, reserved),
                      tables_.cost_of(*outcome_.quotas, used));
    }
}

/// Its acquire may still be decided, or may have been already, and have counted a strike.
void Admission::end_strikes() noexcept {
    options_.refusals_strike = false;
    quota_.end_strikes();
}

void Admission::time_out() noexcept {
    end_strikes();
    abandon();
    guard([&] { apply_failure_policy(); });
}

std::string_view Admission::plan() const {
    const bool has_plan = !outcome_.record || !outcome_.record->plan.empty();
    return has_plan ? std::string_view(outcome_.key().plan)
                    : std::string_view(tables_.tables().front()->default_plan);
}

RequestStatistics* Admission::statistics() const {
    if (tables_.tables().front()->by_group) {
        return tables_.statistics_of(group_.record().get());
    }
    RequestStatistics* const known = authenticator_.statistics();
    return known != nullptr ? known : tables_.statistics_of(outcome_.record.get());
}

std::optional<Error> Admission::refusal_in(const TableSet& tables, std::string_view scopes) const {
    if (!contains_scopes(outcome_.key().scopes, scopes)) {
        return kInsufficientScope;
    }
    if (!tables.shares_redis_with(tables_) || !tables.has_plan(outcome_.key().plan)) {
        return kPlanNotAllowed;
    }
    return std::nullopt;
}

void Admission::continue_with(Authenticator::Found found, ExactSteadyTime now) {
    outcome_.record = std::move(found.record);
    switch (found.result) {
        case Authenticator::Result::kInvalid:
            outcome_.invalid = authenticator_.invalid();
            refuse_key(kInvalidApiKey);
            break;
        case Authenticator::Result::kLookup: {
            const KeyDigest& digest = authenticator_.key().digest;
            if (context_.transport().is_reachable(context_.slot_of(digest))) {
                authenticator_.forget_known();
                identity_.lookups.submit(*this, digest, authenticator_.priority());
            } else {
                apply_failure_policy();
            }
            break;
        }
        case Authenticator::Result::kValid:
            if (find_group()) {
                decide_by_quotas(now);
            }
            break;
    }
}

/// Finds the record of the key's group, if it is needed. False if the request waits for it, or is
/// decided without it.
bool Admission::find_group() {
    const KeyRecord& key = outcome_.key();
    if (!group_.is_needed(key) || options_.checks_key_only) {
        return true;
    }
    const KnownKey* known = authenticator_.known();
    if (known != nullptr && known->group) {
        group_.accept(*known);
        return true;
    }
    if (group_.find(key)) {
        return true;
    }
    if (context_.transport().is_reachable(context_.slot_of(key.group))) {
        authenticator_.forget_known();
        awaits_group_ = true;
        identity_.lookups.submit_group(*this, group_.key().digest, key.group);
    } else {
        apply_failure_policy();
    }
    return false;
}

/// Whether the request waits until the client has read its body. Another key may get the place of
/// its known one meanwhile.
bool Admission::awaits_body(bool then_applies_policy) noexcept {
    if (!options_.needs_body) {
        return false;
    }
    authenticator_.forget_known();
    applies_policy_ = then_applies_policy;
    client_.on_authenticated();
    return true;
}

void Admission::go_on_with_body() noexcept {
    options_.needs_body = false;
    guard([&] {
        if (applies_policy_) {
            apply_failure_policy();
        } else {
            decide_by_quotas(context_.clock().steady());
        }
    });
}

void Admission::refuse_body(const Error& error) noexcept {
    finish(Verdict::kForbidden, kStatusBadRequest, error);
}

void Admission::decide_by_quotas(ExactSteadyTime now) {
    if (!choose_quotas(false)) {
        return;
    }
    if (quota_.quotas()->empty()) {
        grant(Verdict::kGranted);
    } else if (places_ && places_->are_required()) {
        on_permit(places_->enter(*this));
    } else {
        apply(quota_.decide(now));
    }
}

/// Chooses the quotas of the key, whose record is known. False if the request waits for its body,
/// or is decided without them. `then_applies_policy`: see awaits_body.
bool Admission::choose_quotas(bool then_applies_policy) {
    const KeyRecord& key = outcome_.key();
    if (!key.from.empty() && !contains_address(key.from, client_.address())) {
        forbid(kAddressNotAllowed);
        return false;
    }
    // What a worker or the node knows of a key serves all locations with these tables, which may
    // require other scopes.
    if (!contains_scopes(key.scopes, options_.scopes)) {
        forbid(kInsufficientScope);
    } else if (awaits_body(then_applies_policy)) {
        return false;
    } else if (!(options_.checks_key_only ? tables_.has_plan(key.plan) : begin_quotas())) {
        forbid(kPlanNotAllowed);
    } else if (options_.checks_key_only) {
        grant(Verdict::kGranted);
    } else {
        outcome_.cost = client_.cost();
        if (outcome_.cost->can_be_cut()) {
            outcome_.cost = cut_to_limits(*outcome_.cost, tables_.tables(), *quota_.quotas());
            cuts_left_ = outcome_.cost->can_be_cut() ? kMostCuts : 0;
        }
        set_demand();
        const Cost& cost = quota_.request().demand.cost;
        if (exceeds_limit(*quota_.quotas(), cost)) {
            refuse_unpayable();
            return false;
        }
        if (need_places(*quota_.quotas())) {
            // A place belongs to the id, whatever its group is.
            const IdHash id = key.group.empty() ? quota_.request().id_hash : id_hash(key.id);
            places_ = std::make_unique<FlightPlaces>(flights_, key.id, id, quota_.quotas(), cost);
        }
        return true;
    }
    return false;
}

/// Tells the decision what the request costs. Only the last refusal may be a strike.
void Admission::set_demand() {
    quota_.set_demand({.cost = tables_.cost_of(*quota_.quotas(), *outcome_.cost),
                       .refusals_strike = options_.refusals_strike && cuts_left_ == 0,
                       .ban = tables_.ban()});
}

/// Whether the request can be decided again at a lower cost, which it has then.
bool Admission::cut_cost(const Decision& refusal) {
    if (refusal.answer != LocalAnswer::kLimited || cuts_left_ == 0) {
        return false;
    }
    const bool may_strike = options_.refusals_strike && quota_.request().demand.ban;
    const auto rest = cut_to_rest(*outcome_.cost, tables_.tables(), refusal.windows);
    if (!rest && !may_strike) {
        return false;
    }
    --cuts_left_;
    outcome_.cost = rest && cuts_left_ > 0 ? *rest : cut_to_least(*outcome_.cost, tables_.tables());
    cuts_left_ = outcome_.cost->can_be_cut() ? cuts_left_ : 0;
    set_demand();
    return true;
}

/// Begins the decision by the quotas. False if there are none because the plan of the key is not in
/// every table, or its limits are invalid.
bool Admission::begin_quotas() {
    const QuotaChoice choice(identity_, tables_, authenticator_, group_);
    auto chosen = choice.choose(outcome_.record, client_);
    if (!chosen.request.quotas) {
        return false;
    }
    quota_.begin(std::move(chosen.request), {.kept = chosen.kept,
                                             .changed = authenticator_.changed(),
                                             .may_count_alone = authenticator_.is_trusted()});
    return true;
}

/// Decides by the quotas once the request has its places.
void Admission::on_permit(FlightAnswer answer) {
    switch (answer) {
        case FlightAnswer::kAsk:
            quota_.forget_kept();
            break;
        case FlightAnswer::kEntered:
            context_.statistics()["flights.entered"].add();
            apply(quota_.decide(context_.clock().steady()));
            break;
        case FlightAnswer::kFull:
            refuse_in_flight();
            break;
        case FlightAnswer::kUnavailable:
            // Redis may still decide the quotas.
            if (const auto policy = context_.settings().on_failure;
                policy == FailurePolicy::kDeny && !quota_.is_only_counted()) {
                refuse_unavailable();
            } else {
                on_permit(places_->enter_alone(policy == FailurePolicy::kAllow));
            }
            break;
        case FlightAnswer::kRefused:
            on_permit(places_->enter_alone(false));
            break;
        case FlightAnswer::kNoRoom:
            context_.report_record("no room in the zone for requests in flight");
            refuse_unavailable();
            break;
    }
}

void Admission::apply(Decision decision) {
    if (decision.answer == LocalAnswer::kAsk) {
        if (context_.transport().is_reachable(context_.slot_of(quota_.request().slot_text()))) {
            quota_.ask(*this);
        } else {
            apply_failure_policy();
        }
        return;
    }
    if (cut_cost(decision)) {
        apply(decision.is_alone ? quota_.decide_alone() : quota_.decide_again());
        return;
    }
    outcome_.quotas = std::move(quota_.quotas());
    outcome_.windows = std::move(decision.windows);
    outcome_.counting = std::move(decision.counting);
    outcome_.now = decision.now;
    if (decision.answer == LocalAnswer::kGranted) {
        grant(decision.is_alone ? Verdict::kDegraded : Verdict::kGranted);
    } else if (decision.answer == LocalAnswer::kLimited) {
        // No time to wait makes up for a balance, unless leases may return some of its units.
        const WindowState* const balance = exhausted_balance(outcome_.windows);
        const bool waits = balance == nullptr || balance->retry != Instant{};
        refuse_limited(Verdict::kLimited,
                       balance == nullptr ? kRateLimitExceeded : kBalanceExhausted,
                       waits ? retry_after(outcome_.now, retry_at(outcome_.windows)) : 0);
    } else {
        refuse_limited(Verdict::kBanned, kApiKeyBanned,
                       retry_after(outcome_.now, decision.banned_until));
    }
}

/// Applies `on_failure` because Redis can't be asked.
void Admission::apply_failure_policy() {
    const FailurePolicy policy = context_.settings().on_failure;
    const bool is_trusted = authenticator_.is_trusted();
    if (is_trusted) {
        authenticator_.note_use(outcome_.key());
    }
    if (!is_trusted || options_.checks_key_only ||
        (policy == FailurePolicy::kDeny && !quota_.is_only_counted())) {
        refuse_unavailable();
        return;
    }
    if (!quota_.quotas() && group_.is_needed(outcome_.key()) && group_.record() == nullptr) {
        group_.find(outcome_.key());
        if (group_.record() == nullptr) {
            refuse_unavailable();
            return;
        }
    }
    if (!quota_.quotas() && !choose_quotas(true)) {
        return;
    }
    if (places_) {
        if (const auto answer = places_->enter_alone(policy == FailurePolicy::kAllow);
            answer != FlightAnswer::kEntered) {
            on_permit(answer);
            return;
        }
    }
    if (quota_.quotas()->empty() ||
        (policy == FailurePolicy::kAllow && !quota_.is_only_counted())) {
        grant(Verdict::kDegraded);
        return;
    }
    Decision decision = quota_.decide_alone();
    if (decision.answer == LocalAnswer::kAsk) {
        refuse_unavailable();
    } else {
        apply(std::move(decision));
    }
}

/// Once an address has spent its budget, or a flood of its look-ups has found nothing, only a few
/// of its possibly made-up keys are looked up.
bool Admission::on_turn() noexcept {
    guard([&] {
        const Instant now = context_.clock().wall();
        if (awaits_group_ || authenticator_.priority() != KeyLookups::Priority::kUnknown) {
            return;
        }
        looks_up_unknown_ = anonymous_.admits_lookup(tables_.budget(), client_.address(), now);
        if (!looks_up_unknown_) {
            show_address_budget(0);
            refuse_limited(Verdict::kLimited, kRateLimitExceeded, kRetryLookup);
        }
    });
    return !outcome_.is_decided();
}

void Admission::on_record(const redis::Lookup& lookup, SteadyTime sent) noexcept {
    context_.statistics()["key_cache_lookups.miss"].add();
    guard([&] {
        const ExactSteadyTime now = context_.clock().steady();
        if (std::exchange(looks_up_unknown_, false) &&
            (lookup.outcome == redis::Lookup::Outcome::kUnknown ||
             lookup.outcome == redis::Lookup::Outcome::kRevoked)) {
            anonymous_.note_unknown(tables_.budget(), client_.address(), context_.clock().wall());
        }
        if (std::exchange(awaits_group_, false)) {
            group_.accept(lookup, sent);
            decide_by_quotas(now);
        } else {
            continue_with(authenticator_.accept(lookup), now);
        }
    });
}

void Admission::on_lookup_failed() noexcept {
    context_.statistics()["key_cache_lookups.miss"].add();
    awaits_group_ = false;
    guard([&] { apply_failure_policy(); });
}

void Admission::on_place(FlightAnswer answer) noexcept {
    guard([&] {
        if (answer == FlightAnswer::kEntered) {
            places_->entered();
            answer = places_->enter(*this);
        }
        on_permit(answer);
    });
}

void Admission::on_decision(Decision decision) noexcept {
    context_.statistics()["quota_decisions.redis"].add();
    guard([&] { apply(std::move(decision)); });
}

void Admission::on_retry() noexcept {
    guard([&] { apply(quota_.decide_again()); });
}

void Admission::on_unavailable(AcquireFailure failure) noexcept {
    if (failure == AcquireFailure::kUnknown) {
        end_strikes();
    }
    guard([&] { apply_failure_policy(); });
}

/// The cost is above a limit: no time to wait would help. Nothing is counted, and it is no strike.
void Admission::refuse_unpayable() {
    Decision shown = quota_.look();
    outcome_.quotas = quota_.quotas();
    outcome_.windows = std::move(shown.windows);
    outcome_.now = shown.now;
    refuse_limited(Verdict::kLimited, kCostExceedsLimit, 0);
}

/// The limit of requests in flight is reached. Nothing is counted, and it is no strike.
void Admission::refuse_in_flight() {
    context_.statistics()["flights.refused"].add();
    Decision shown = quota_.look();
    outcome_.quotas = quota_.quotas();
    outcome_.windows = std::move(shown.windows);
    outcome_.now = shown.now;
    const TableQuota& full = places_->next();
    outcome_.in_flight = {.table = full.table, .policy = full.in_flight_policy};
    refuse_limited(Verdict::kLimited, kTooManyInFlight, kRetryInFlight);
}

/// Charges the `anonymous` budget of the client's address, which the response shows.
void Admission::show_address_budget(std::int64_t cost) {
    const Instant now = context_.clock().wall();
    outcome_.now = now;
    outcome_.windows = anonymous_.charge(tables_.budget(), client_.address(), cost, now);
}

/// Refuses a missing or invalid key.
void Admission::refuse_key(const Error& error) {
    show_address_budget(1);
    if (std::ranges::any_of(outcome_.windows, &WindowState::exhausted)) {
        refuse_limited(Verdict::kLimited, kRateLimitExceeded,
                       retry_after(outcome_.now, outcome_.binding()->reset));
    } else {
        finish(Verdict::kUnauthenticated, kStatusUnauthorized, error);
    }
}

void Admission::forbid(const Error& error) noexcept {
    finish(Verdict::kForbidden, kStatusForbidden, error);
}

void Admission::refuse_limited(Verdict verdict, const Error& error,
                               std::int64_t retry_after) noexcept {
    outcome_.retry_after = retry_after;
    finish(verdict, kStatusTooManyRequests, error);
}

void Admission::refuse_unavailable() noexcept {
    outcome_.retry_after = kRetryUnavailable;
    finish(Verdict::kUnavailable, kStatusServiceUnavailable, kServiceUnavailable);
}

void Admission::finish(Verdict verdict, int status, const Error& error) noexcept {
    outcome_.verdict = verdict;
    outcome_.status = status;
    outcome_.error = error;
    if (places_ && !outcome_.is_granted()) {
        places_->leave();
    }
    client_.on_outcome();
}

}  // namespace tollgate::engine
