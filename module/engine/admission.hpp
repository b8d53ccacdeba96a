#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "module/engine/identity/authenticator.hpp"
#include "module/engine/identity/group_finder.hpp"
#include "module/engine/identity/key_lookups.hpp"
#include "module/engine/identity/quota_choice.hpp"
#include "module/engine/in_flight/flight_places.hpp"
#include "module/engine/outcome.hpp"
#include "module/engine/quota/acquire_waiter.hpp"
#include "module/engine/quota/quota_decision.hpp"
#include "module/engine/table_set.hpp"
#include "module/key/address_blocks.hpp"
#include "module/process/environment.hpp"

namespace tollgate::engine {

class AnonymousBudgets;
class Engine;

/// Decides one request: authenticates its key, then decides by its quotas. Waits for Redis where
/// the node knows too little. Produces an Outcome, once.
class Admission : private AcquireWaiter, private LookupWaiter, private FlightWaiter {
  public:
    /// The request that is decided.
    class Client : private Pinned, public ValueSource {
      public:
        ~Client() override = default;

        /// What the request costs in each table of the table set. Called once, when its key is
        /// authenticated and has quotas. Throws std::bad_alloc.
        virtual Cost cost() = 0;
        /// The bytes live as long as the request.
        virtual AddressBytes address() const = 0;
        virtual Log& log() noexcept = 0;
        /// With Options::needs_body: the key is valid and may be used here. The client reads the
        /// body of the request, and calls go_on_with_body() later, not from here.
        virtual void on_authenticated() noexcept {}
        /// The outcome is decided. Called once, possibly before start() returns. Must not destroy
        /// the admission.
        virtual void on_outcome() noexcept = 0;
    };
    struct Options {
        bool refusals_strike = true;  ///< whether a 429 counts towards a ban
        /// Only the key, its plan and its scopes are checked: another admission has counted the
        /// request. `on_failure` does not apply: if Redis can't be asked, the request gets 503.
        bool checks_key_only = false;
        /// The scopes that the key must have, in the form of parse_scopes. Must outlive the
        /// admission.
        std::string_view scopes{};
        /// The cost or the values of the request may need its body: see Client::on_authenticated.
        bool needs_body = false;
        /// The error for a request without a key.
        Error missing_key = kMissingApiKey;
    };

    /// The engine, the table set and the client must outlive it. The engine is that of the Redis in
    /// which the tables count.
    Admission(Engine& engine, TableSet& tables, Client& client, const Options& options);
    /// Calls under way continue without a waiter.
    ~Admission() override = default;

    const Outcome& outcome() const { return outcome_; }
    const TableSet& tables() const { return tables_; }

    /// Decides the request by its key; nothing if it has none. It is decided when this returns, or
    /// later, when Redis has answered.
    void start(std::optional<std::string_view> token) noexcept;
    /// Decides a request by its subject, which needs no key. An invalid subject is refused. The
    /// request is decided when this returns, or later, when Redis has answered. The texts need not
    /// live longer than this call.
    void start(const Subject& subject) noexcept;
    /// Lets the request pass without a key and without a quota.
    void bypass() noexcept { grant(Verdict::kBypassed); }
    /// Refuses a key with 403 that another admission has authenticated.
    void forbid(const Error& error, std::shared_ptr<const KeyRecord> record) noexcept;
    /// Refuses the request as another admission of its key has refused it, which this outcome says.
    /// Throws std::bad_alloc.
    void refuse_as(const Outcome& outcome);
    /// The client has read the body. The request is decided when this returns, or later, when Redis
    /// has answered.
    void go_on_with_body() noexcept;
    /// The client has read the body, and a value is missing that it must have: refuses the request
    /// with 400. Nothing is counted, and it is no strike.
    void refuse_body(const Error& error) noexcept;
    /// Redis took too long: `on_failure` applies.
    void time_out() noexcept;
    /// The request has ended: no callback follows.
    void abandon() noexcept;
    /// Whether the request is granted, and its cost is settled when it ends and is not yet.
    bool settles() const noexcept {
        return !is_settled_ && outcome_.is_granted() && outcome_.cost && outcome_.cost->settles();
    }
    /// A request has ended without a value of its response that `tollgate_response_json` requires.
    void note_missing_usage() const noexcept { context_.statistics()["usage_missing"].add(); }
    /// The request has ended and has used so much in each table: charges or refunds the difference
    /// to its cost. No effect unless settles(). Throws std::bad_alloc; then its cost stands.
    void settle(const Cost& used);

    /// The plan that responses and logs show: that of the record, or, if a subject has none, the
    /// default of the first table. Empty without a record.
    std::string_view plan() const;
    /// Where the request is counted: by the plan that the first table applies, which is that of the
    /// group if the table counts groups. nullptr without statistics.
    RequestStatistics* statistics() const;
    /// The limits of requests in flight of the key. Throws std::bad_alloc.
    std::vector<FlightState> flights() const {
        return places_ ? places_->states() : std::vector<FlightState>();
    }

    /// Why the key may not be used with another set of tables that requires these scopes: it lacks
    /// a scope, its plan is not in all of them, or they count in another Redis. Nothing if it may.
    std::optional<Error> refusal_in(const TableSet& tables, std::string_view scopes) const;

  private:
    /// How often a refused request is decided again with a cost that is cut: once with what is
    /// left. If another request has taken some of it meanwhile, or if the refusal is to be a
    /// strike, also with the least.
    static constexpr int kMostCuts = 2;

    /// Refuses the request with 503.
    void refuse_unavailable() noexcept;
    /// Runs a step. If it throws, the request waits for nothing any more and gets 503.
    template <typename Step>
    void guard(Step step) noexcept {
        if (!attempt(client_.log(), step)) {
            abandon();
            refuse_unavailable();
        }
    }
    void continue_with(Authenticator::Found found, ExactSteadyTime now);
    bool find_group();
    bool awaits_body(bool then_applies_policy) noexcept;
    bool choose_quotas(bool then_applies_policy);
    bool begin_quotas();
    void end_strikes() noexcept;
    void set_demand();
    bool cut_cost(const Decision& refusal);
    void decide_by_quotas(ExactSteadyTime now);
    void on_permit(FlightAnswer answer);
    void apply(Decision decision);
    void apply_failure_policy();
    void refuse_unpayable();
    void refuse_in_flight();

    bool on_turn() noexcept override;
    void on_record(const redis::Lookup& lookup, SteadyTime sent) noexcept override;
    void on_lookup_failed() noexcept override;
    void on_place(FlightAnswer answer) noexcept override;
    void on_decision(Decision decision) noexcept override;
    void on_retry() noexcept override;
    void on_unavailable(AcquireFailure failure) noexcept override;

    void show_address_budget(std::int64_t cost);
    void refuse_key(const Error& error);
    void forbid(const Error& error) noexcept;
    void refuse_limited(Verdict verdict, const Error& error, std::int64_t retry_after) noexcept;
    void finish(Verdict verdict, int status, const Error& error) noexcept;
    void grant(Verdict verdict) noexcept { finish(verdict, 0, {}); }

    EngineContext& context_;
    IdentityParts& identity_;
    Flights& flights_;
    AnonymousBudgets& anonymous_;
    TableSet& tables_;
    Client& client_;
    Options options_;
    Authenticator authenticator_;
    GroupFinder group_;
    bool awaits_group_ = false;    ///< the look-up under way is that of the group
    bool applies_policy_ = false;  ///< `on_failure` applies once the body is read
    bool is_settled_ = false;
    int cuts_left_ = 0;              ///< see kMostCuts
    bool looks_up_unknown_ = false;  ///< AnonymousBudgets has admitted the one under way
    QuotaDecision quota_;
    std::unique_ptr<FlightPlaces> places_;  ///< nullptr: no table limits the requests in flight
    Outcome outcome_;
};

}  // namespace tollgate::engine
