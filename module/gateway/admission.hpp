#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "module/gateway/acquire_waiter.hpp"
#include "module/gateway/environment.hpp"
#include "module/gateway/key_lookups.hpp"
#include "module/gateway/known_keys.hpp"
#include "module/gateway/outcome.hpp"
#include "module/gateway/table_set.hpp"
#include "module/quota/client_address.hpp"
#include "module/store/key_cache.hpp"

namespace tollgate::gateway {

class LoadedStates;
class LockedStripe;

/// Decides one request: authenticates its key, then acquires its quotas, from what the node has or
/// else from Redis. Produces an Outcome, once.
class Admission : private AcquireWaiter, private LookupWaiter {
  public:
    /// The request that is decided.
    class Client {
      public:
        Client() = default;
        Client(const Client&) = delete;
        Client& operator=(const Client&) = delete;
        virtual ~Client() = default;

        /// The units that the request costs. Called when its key is authenticated, if
        /// Options::cost is empty.
        virtual std::int64_t cost() = 0;
        virtual ClientAddress address() const = 0;
        virtual Log& log() noexcept = 0;
        /// The outcome is decided. Called once, possibly before start() returns. Must not destroy
        /// the admission.
        virtual void on_outcome() noexcept = 0;
    };
    struct Options {
        std::optional<std::int64_t> cost;  ///< of every request; empty: ask Client::cost
        bool refusals_strike = true;       ///< whether a 429 counts towards a ban
        bool is_free = false;  ///< takes no units: the request is on its way to an error page
        /// Only the key, its plan and its scopes are checked: another admission has counted the
        /// request. `on_failure` does not apply: if Redis can't be asked, the request gets 503.
        bool checks_key_only = false;
        /// The scopes that the key must have, in the form of parse_scopes. Must outlive the
        /// admission.
        std::string_view scopes{};
        /// Of a request without a key.
        Error missing_key = kMissingApiKey;
    };

    /// The table set and the client must outlive it.
    Admission(TableSet& tables, Client& client, const Options& options);
    /// Calls under way continue without a waiter.
    ~Admission() override = default;
    Admission(const Admission&) = delete;
    Admission& operator=(const Admission&) = delete;

    const Outcome& outcome() const { return outcome_; }
    const TableSet& tables() const { return tables_; }

    /// Decides the request by its key; nothing if it has none. It is decided when this returns, or
    /// later, when Redis has answered.
    void start(std::optional<std::string_view> token) noexcept;
    /// Lets the request pass without a key and without a quota.
    void bypass() noexcept;
    /// Refuses a key with 403 that another admission has authenticated.
    void forbid(const Error& error, std::shared_ptr<const KeyRecord> record) noexcept;
    /// Redis took too long: `on_failure` applies.
    void time_out() noexcept;
    /// Refuses the request with 503.
    void refuse_unavailable() noexcept;
    /// The request has ended: no callback follows.
    void abandon() noexcept;

    /// Why the key may not be used with another set of tables that requires these scopes: it lacks
    /// a scope, its plan is not in all of them, or they count in another Redis. Nothing if it may.
    std::optional<Error> refusal_in(const TableSet& tables, std::string_view scopes) const;

  private:
    /// The next step.
    enum class Next {
        kLookUp,
        kRefuseKey,
        kAdmit,
        kForbid,
        kGrant,
        kAcquire,
        kDecided,
        kDecidedAlone,  ///< while Redis is unreachable
        kUnavailable,
    };

    Engine& engine() const { return tables_.engine(); }

    void authenticate(std::optional<std::string_view> token);
    void identify(std::string_view token);
    bool is_current(const KnownKey& known, ExactSteadyTime now) const;
    bool is_outdated(const KeyCache::Key& key, const IdHash& id, SteadyTime checked) const;
    bool has_scopes() const;
    void note_use() noexcept;
    void note_use(KnownKey& known, ExactSteadyTime now) noexcept;
    void decide_by_key();
    void recall(const KnownKey& known, ExactSteadyTime now);
    void use_known(KnownKey& known, ExactSteadyTime now);
    void keep_record(KnownKey& known, SteadyTime now) noexcept;
    void grant_from_slice(const KnownKey& known, ExactSteadyTime now);
    void repeat_refusal(RecentRefusal& refusal, ExactSteadyTime now);
    Next find_in_cache(SteadyTime& checked);
    void remember(const TokenHash& token, SteadyTime checked);
    void look_up();
    void use_record(const redis::Lookup& lookup);
    Next admit(ExactSteadyTime time);
    bool choose_quotas();
    void describe_demand();
    ClockBounds clock_bounds(ExactSteadyTime time) const;
    bool asks_unreachable_redis(Next next) const;
    Next decide_locally(LoadedStates& states, const ClockBounds& now);
    bool counts_alone() const;
    bool is_only_counted() const;
    Next count_alone(LoadedStates& states, const ClockBounds& now);
    bool take_back(LoadedStates& states, SteadyTime now);
    void keep_for_next(LocalAnswer answer, LoadedStates& states, const ClockBounds& now);
    void keep_decision(LocalAnswer answer, LoadedStates& states, const ClockBounds& time);
    void run(Next next);
    void conclude(Decision& decision, Verdict granted);

    /// Runs a step. If it throws, the request waits for nothing any more and gets 503.
    template <typename Step>
    void guard(Step step) noexcept {
        if (!attempt(client_.log(), step)) {
            abandon();
            refuse_unavailable();
        }
    }
    bool on_turn() noexcept override;
    void on_record(const redis::Lookup& lookup) noexcept override;
    void on_lookup_failed() noexcept override;
    void on_decision(Decision decision) noexcept override;
    void on_retry() noexcept override;
    void on_unavailable(AcquireFailure failure) noexcept override;

    void refuse_key(const Error& error);
    void forbid(const Error& error) noexcept;
    void refuse_look_up();
    void apply_failure_policy();
    void decide_in_outage();
    void refuse_limited(std::int64_t retry_after) noexcept;
    void finish(Verdict verdict, int status, const Error& error) noexcept;
    void grant(Verdict verdict) noexcept { finish(verdict, 0, {}); }

    TableSet& tables_;
    Client& client_;
    Options options_;
    bool is_known_ = false;  ///< the key was valid when Redis was last asked, within stale_keys
    bool may_be_made_up_ = true;  ///< the key is neither cached nor announced by `events`
    KeyCache::Key sought_{};
    KeyCache::Minute used_ = 0;     ///< the last use that the node has noted, as far as known
    bool may_have_struck_ = false;  ///< Redis may have counted a strike for this request
    bool is_use_noted_ = false;     ///< by this request
    KnownKey* known_ = nullptr;     ///< while start() runs: the worker's entry for the key
    AcquireRequest request_;
    std::int64_t cost_ = 1;
    Decision local_{};
    Outcome outcome_;
};

}  // namespace tollgate::gateway
