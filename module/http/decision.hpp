#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "module/core/error_body.hpp"
#include "module/core/key_record.hpp"
#include "module/core/verdict.hpp"
#include "module/http/location_conf.hpp"
#include "module/http/nginx.hpp"
#include "module/redis/acquire.hpp"
#include "module/redis/connection.hpp"
#include "module/store/known_keys.hpp"

namespace tollgate::http {

/// What Tollgate decides of a request, once, and how it comes to it: authenticate the key (a
/// look-up in Redis), then acquire its quotas (a script in Redis). Lives in the pool of the main
/// request, so that an internal redirect, an error page or a subrequest finds it instead of
/// deciding, and counting, again.
class Decision {
  public:
    /// The decision of this request; nullptr where it has passed no tollgate location.
    static Decision* find(const ngx_http_request_t* r);
    /// Makes the decision of a request that has none.
    static Decision& make(ngx_http_request_t* r, const LocationConf& conf);

    Decision(ngx_http_request_t* r, const LocationConf& conf);
    ~Decision();
    Decision(const Decision&) = delete;
    Decision& operator=(const Decision&) = delete;

    /// Lets the request pass with neither key nor quota.
    void bypass();
    /// Refuses a key whose plan has no place here.
    void forbid();
    /// Whether the key's plan has a place in all of these tables, and the key in their Redis.
    bool has_place_in(const TableSet& tables) const;
    /// Begins to decide. It may be settled at once, or later, when Redis has answered.
    void start();
    /// Redis took too long over all that the request asked of it.
    void time_out();
    /// The request is gone: what is still under way in Redis will find nobody.
    void abandon() noexcept;

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
    Instant now() const { return now_; }
    /// The window to show where one must stand for all; nullptr for none.
    const WindowState* binding() const { return binding_window(windows_); }
    /// Seconds for `Retry-After`; 0 for none.
    std::int64_t retry_after() const { return retry_after_; }

  private:
    template <void (Decision::*OnReply)(const redisReply&)>
    class Waiter;

    void authenticate();
    void look_up(std::string_view token);
    void take_lookup(const redisReply& reply);
    void choose_plans();
    void acquire();
    void take_acquired(const redisReply& reply);
    void take_refusal_of_redis(const redisReply& reply);
    void show_windows(std::vector<WindowState> windows, Instant now);

    void unauthenticated(const Error& error);
    void unavailable();
    bool recall();
    void settle(Verdict verdict, ngx_int_t status, const Error& error);
    void grant(Verdict verdict) { settle(verdict, 0, {}); }
    void log_refusal();

    template <void (Decision::*OnReply)(const redisReply&)>
    void send(const std::vector<std::string>& command);

    ngx_http_request_t* r_;
    const LocationConf& conf_;
    redis::ReplyHandler* waiter_ =
        nullptr;  ///< owned by the connection; there while a command is under way
    void (*detach_)(redis::ReplyHandler&) = nullptr;
    bool started_ = false;  ///< start() has returned: the request waits for an event
    bool evaluated_in_full_ = false;
    bool key_was_sent_ = false;
    KnownKeys::Key sought_{};
    KeyRecord key_;
    redis::Acquire acquire_;
    Verdict verdict_ = Verdict::kNone;
    ngx_int_t status_ = 0;
    Error error_{};
    std::vector<WindowState> windows_;
    Instant now_{};
    std::int64_t retry_after_ = 0;
};

}  // namespace tollgate::http
