#include "module/http/redis_client.hpp"

#include <algorithm>
#include <utility>

#include "module/http/clock.hpp"
#include "module/redis/protocol/error_scope.hpp"
#include "module/redis/protocol/log_text.hpp"
#include "module/text/name_hash.hpp"

namespace tollgate::http {

using namespace std::chrono_literals;

namespace {

/// How long a record holds where no change would be heard of.
constexpr SteadyTime kUnsubscribed = 1s;

}  // namespace

RedisClient::RedisClient(const MainConf& main, const RedisConf& conf, ngx_log_t* log)
    : main_(main),
      conf_(conf),
      log_(log),
      acquirer_(*this),
      settlement_(*this),
      key_lookups_(*this),
      plan_publication_(*this),
      connection_(conf.endpoint, conf.keys.probe(), *this, log),
      subscription_(conf.endpoint, conf.keys.events(), *this, log) {}

void RedisClient::leave_statistics() const noexcept {
    const auto pid = static_cast<std::uint32_t>(ngx_pid);
    statistics().breaker_open.erase(ngx_worker, pid);
    statistics().subscribed.erase(ngx_worker, pid);
}

Moment RedisClient::moment(const LockedZone& zone, ExactSteadyTime now) const {
    return zone.redis(conf_.name_hash).clock.at(now, node_time());
}

bool RedisClient::is_fresh(SteadyTime checked, SteadyTime now) const {
    const auto since = subscription_.standing_since();
    const SteadyTime hold =
        since && checked > *since ? conf_.key_cache : std::min(conf_.key_cache, kUnsubscribed);
    return now - checked < hold;
}

void RedisClient::report(std::string_view message) noexcept {
    if (redis::error_scope(message) == redis::ErrorScope::kServer) {
        connection_.refuse(message);
        return;
    }
    const auto left_out = errors_.admit(std::chrono::steady_clock::now());
    if (!left_out) {
        return;
    }
    const redis::LogText shown(message);
    ngx_str_t text = borrow(shown);
    if (*left_out == 0) {
        ngx_log_error(NGX_LOG_ERR, log_, 0, "tollgate: redis \"%s\": %V",
                      conf_.endpoint.name.c_str(), &text);
    } else {
        ngx_log_error(NGX_LOG_ERR, log_, 0,
                      "tollgate: redis \"%s\": %V (%uL errors were left out since the last line)",
                      conf_.endpoint.name.c_str(), &text, *left_out);
    }
}

void RedisClient::on_message(std::string_view text) noexcept {
    const bool noted = guarded(log_, false, [&] {
        const LockedZone zone(main_);
        zone.changes().note(conf_.name_hash, text, steady_time());
        return true;
    });
    if (!noted) {
        subscription_.renew();  // A change was missed: records are asked for again.
    }
}

void RedisClient::on_subscribed(bool stands) noexcept {
    const auto pid = static_cast<std::uint32_t>(ngx_pid);
    if (stands) {
        statistics().subscribed.insert(ngx_worker, pid);
    } else {
        statistics().subscribed.erase(ngx_worker, pid);
    }
}

void RedisClient::on_answer(std::chrono::microseconds round_trip) noexcept {
    statistics().round_trips.note(round_trip);
}

void RedisClient::on_error() noexcept {
    statistics().errors.add();
}

void RedisClient::on_connected(bool is_first) noexcept {
    if (!is_first) {
        statistics().reconnects.add();
    }
    plan_publication_.begin();
}

void RedisClient::on_refusal(std::string_view message) noexcept {
    // A failover: another server takes writes from now on, and tells of changes.
    if (redis::has_error_code(message, "READONLY")) {
        renews_subscription_ = true;
    }
}

void RedisClient::on_time(ExactSteadyTime sent, ExactSteadyTime received,
                          ExactInstant time) noexcept {
    {
        const LockedZone zone(main_);
        zone.redis(conf_.name_hash).clock.observe(sent, received, time);
    }
    if (std::exchange(renews_subscription_, false)) {
        subscription_.renew();
    }
}

void RedisClient::on_breaker_open(std::string_view reason) noexcept {
    statistics().breaker_opened.add();
    const bool is_first = [&] {
        const LockedZone zone(main_);
        const bool none = statistics().breaker_open.count(WorkerSet::kMost) == 0;
        statistics().breaker_open.insert(ngx_worker, static_cast<std::uint32_t>(ngx_pid));
        return none;
    }();
    // Each worker has a breaker of its own; the log says it once for all of them.
    if (is_first) {
        const redis::LogText shown(reason);
        ngx_str_t text = borrow(shown);
        ngx_log_error(NGX_LOG_ERR, log_, 0, "tollgate: redis \"%s\" is out of reach: %V",
                      conf_.endpoint.name.c_str(), &text);
    }
}

void RedisClient::on_breaker_close() noexcept {
    const bool is_last = [&] {
        const LockedZone zone(main_);
        statistics().breaker_open.erase(ngx_worker, static_cast<std::uint32_t>(ngx_pid));
        return statistics().breaker_open.count(WorkerSet::kMost) == 0;
    }();
    // At the level of the line that it ends: who saw that one sees this one.
    if (is_last) {
        ngx_log_error(NGX_LOG_ERR, log_, 0, "tollgate: redis \"%s\" is back",
                      conf_.endpoint.name.c_str());
    }
    plan_publication_.begin();
}

void RedisClient::on_shutdown() noexcept {
    guarded(log_, false, [&] {
        settlement_.shut_down();
        return true;
    });
}

}  // namespace tollgate::http
