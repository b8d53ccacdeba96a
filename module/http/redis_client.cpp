#include "module/http/redis_client.hpp"

#include <algorithm>

#include "module/core/name_id.hpp"
#include "module/http/clock.hpp"

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
      key_lookups_(*this),
      connection_(conf.endpoint, *this, log),
      subscription_(conf.endpoint, conf.keys.events(), *this, log) {}

RedisClient::~RedisClient() {
    // The worker ends: what it held of Redis is of no meaning any more.
    const auto pid = static_cast<std::uint32_t>(ngx_pid);
    statistics().breaker_open.erase(ngx_worker, pid);
    statistics().subscribed.erase(ngx_worker, pid);
}

Moment RedisClient::moment(const LockedZone& zone, SteadyTime now) const {
    return zone.redis(conf_.name_hash).clock.at(now, node_time());
}

bool RedisClient::is_fresh(SteadyTime checked, SteadyTime now) const {
    const auto since = subscription_.standing_since();
    const SteadyTime hold =
        since && checked > *since ? conf_.key_cache : std::min(conf_.key_cache, kUnsubscribed);
    return now - checked < hold;
}

QuotaStates::Key RedisClient::place_of(const IdHash& id, const TableQuota& quota) const {
    return {id, quota.table_hash ^ conf_.name_hash};
}

void RedisClient::report(std::string_view message) {
    ngx_str_t text = borrow(message);
    ngx_log_error(NGX_LOG_ERR, log_, 0, "tollgate: redis \"%s\": %V", conf_.endpoint.name.c_str(),
                  &text);
    if (message.starts_with("READONLY") || message.starts_with("NOAUTH")) {
        connection_.renew();
    }
}

void RedisClient::on_message(std::string_view text) noexcept {
    const LockedZone zone(main_);
    zone.changes().note(conf_.name_hash, text, steady_time());
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

void RedisClient::on_reconnect() noexcept {
    statistics().reconnects.add();
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
        ngx_str_t text = borrow(reason);
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
}

void RedisClient::on_shutdown() noexcept {
    guarded(log_, false, [&] {
        acquirer_.settle_all();
        return true;
    });
}

LoadedStates::LoadedStates(const LockedZone& zone, const RedisClient& client, const IdHash& id,
                           const Quotas& quotas)
    : zone_(zone), client_(client), id_(id), quotas_(quotas) {
    if (quotas.size() == 1) {
        states_ = {&one_, 1};
        places_ = {&place_of_one_, 1};
    } else {
        several_.resize(quotas.size());
        places_of_several_.resize(quotas.size());
        states_ = several_;
        places_ = places_of_several_;
    }
    for (std::size_t i = 0; i < quotas.size(); ++i) {
        states_[i] = zone.quotas().load(client.place_of(id, quotas[i]), quotas[i], places_[i]);
    }
}

void LoadedStates::save(SteadyTime now) {
    for (std::size_t i = 0; i < quotas_.size(); ++i) {
        zone_.quotas().save(places_[i], client_.place_of(id_, quotas_[i]), quotas_[i], states_[i],
                            now);
    }
}

}  // namespace tollgate::http
