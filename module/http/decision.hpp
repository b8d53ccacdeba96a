#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "module/gateway/patience.hpp"
#include "module/http/acquirer.hpp"
#include "module/http/config/location_conf.hpp"
#include "module/http/key_lookups.hpp"
#include "module/http/nginx.hpp"
#include "module/key/key_record.hpp"
#include "module/report/error_body.hpp"
#include "module/report/verdict.hpp"
#include "module/store/key_cache.hpp"

namespace tollgate::http {

class LoadedStates;
class LockedZone;

/// What Tollgate decides of a request, once, and how it comes to it: authenticate the key, then
/// acquire its quotas; from what the node knows, or else from Redis. Lives in the pool of the main
/// request, so that an internal redirect, an error page or a subrequest finds it instead of
/// deciding, and counting, again.
class Decision : private QuotaWaiter, private KeyWaiter {
  public:
    /// The decision of this request; nullptr where it has passed no tollgate location.
    static Decision* find(const ngx_http_request_t* r);
    /// Makes the decision of a request that has none.
    static Decision& make(ngx_http_request_t* r, const LocationConf& conf);

    Decision(ngx_http_request_t* r, const LocationConf& conf);
    ~Decision() override;
    Decision(const Decision&) = delete;
    Decision& operator=(const Decision&) = delete;

    /// Lets the request pass with neither key nor quota.
    void bypass();
    /// Refuses a key whose plan has no place here.
    void forbid();
    /// Whether the key's plan has a place in all of these tables, and the key in their Redis.
    bool has_place_in(const TableSet& tables) const;
    /// Begins to decide. It may be settled at once, or later, when Redis has answered.
    void start() noexcept;
    /// How long the request waits for all that it asks of Redis.
    Patience& patience() { return patience_; }
    /// Redis took too long over all that the request asked of it.
    void time_out() noexcept;
    /// The request is gone: what is still under way in Redis will find nobody.
    void abandon() noexcept;

    /// The fields that mustn't reach the upstream were removed from the request, but for
    /// `Authorization` where that is forwarded: see strip_request_fields.
    void note_stripped(bool forward_authorization) {
        stripped_ = forward_authorization ? Stripped::kQuotaFields : Stripped::kAll;
    }
    /// Whether that was done already.
    bool is_stripped(bool forward_authorization) const {
        return stripped_ == Stripped::kAll ||
               (forward_authorization && stripped_ == Stripped::kQuotaFields);
    }

    bool settled() const { return verdict_ != Verdict::kNone; }
    /// Whether the request must not pass; nothing is refused where `tollgate_dry_run` holds.
    bool refuses() const { return status_ != 0 && !conf_.dry_run; }

    /// Whether it passes for a key that is good, and not only for want of a refusal.
    bool grants() const { return verdict_ == Verdict::kGranted || verdict_ == Verdict::kDegraded; }

    Verdict verdict() const { return verdict_; }
    /// The status to refuse with; 0 where the request is granted.
    ngx_int_t status() const { return status_; }
    const Error& error() const { return error_; }
    const LocationConf& conf() const { return conf_; }
    /// Whether there was a key in the request, good or not.
    bool key_was_sent() const { return key_was_sent_; }
    /// The key's record, once it is authenticated.
    const KeyRecord& key() const { return key_; }
    /// The quota's windows as the request left them; those of its address where it isn't
    /// authenticated.
    const std::vector<WindowState>& windows() const { return windows_; }
    /// The clock that the windows are counted by, when they were.
    ExactInstant now() const { return now_; }
    /// The window to show where one must stand for all; nullptr for none.
    const WindowState* binding() const { return binding_window(windows_); }
    /// Seconds for `Retry-After`; 0 for none.
    std::int64_t retry_after() const { return retry_after_; }

  private:
    /// What is to be done next.
    enum class Next { kLookUp, kRefuseKey, kAdmit, kForbid, kGrant, kAcquire, kDecided };

    RedisClient& client() const { return *conf_.tables->redis->client; }

    void authenticate();
    void identify(std::string_view token);
    Next recall(const LockedZone& zone);
    void look_up();
    void take_record(const redis::Lookup& lookup);
    Next admit(const LockedZone& zone, ExactSteadyTime time);
    bool choose_quotas();
    Next decide_locally(LoadedStates& states, const Moment& now);
    void show(LocalAnswer answer, LoadedStates& states, const Moment& time);
    void proceed(Next next);
    void follow(Decided& decided, Verdict granted);

    template <typename Step>
    void resume(Step step) noexcept;
    bool on_turn() noexcept override;
    void on_record(const redis::Lookup& lookup) noexcept override;
    void on_lookup_failed() noexcept override;
    void on_decided(Decided decided) noexcept override;
    void on_retry() noexcept override;
    void on_unavailable() noexcept override;

    void unauthenticated(const Error& error);
    void limit_look_ups();
    void unavailable();
    void refuse_unavailable() noexcept;
    void decide_alone();
    void settle(Verdict verdict, ngx_int_t status, const Error& error) noexcept;
    void grant(Verdict verdict) noexcept { settle(verdict, 0, {}); }
    void log_refusal() noexcept;

    enum class Stripped { kNothing, kQuotaFields, kAll };

    ngx_http_request_t* r_;
    const LocationConf& conf_;
    Stripped stripped_ = Stripped::kNothing;
    bool started_ = false;  ///< start() has returned: the request waits for an event
    bool key_was_sent_ = false;
    bool is_known_ = false;       ///< the key was good when Redis was last asked, not too long ago
    bool may_be_made_up_ = true;  ///< no record of the key is known, nor did `events` announce it
    KeyCache::Key sought_{};
    KeyRecord key_;
    QuotaRequest request_;
    std::int64_t cost_ = 1;
    Decided local_{};
    Verdict verdict_ = Verdict::kNone;
    ngx_int_t status_ = 0;
    Error error_{};
    std::vector<WindowState> windows_;
    ExactInstant now_{};
    std::int64_t retry_after_ = 0;
    Patience patience_;
};

}  // namespace tollgate::http
