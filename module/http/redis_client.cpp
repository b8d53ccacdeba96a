#include "module/http/redis_client.hpp"

#include <utility>

#include "module/redis/protocol/error_scope.hpp"
#include "module/redis/protocol/log_text.hpp"

namespace tollgate::http {

RedisClient::RedisClient(const RedisConf& conf, std::span<const gateway::ServedTable> tables,
                         gateway::Zone& zone, TlsSessionZone* sessions, const RedisCounts& counts,
                         const gateway::Environment& environment, ngx_log_t* log)
    : conf_(conf),
      workers_(counts.workers),
      log_(log),
      engine_(conf.settings, tables, zone, counts.own, *this, environment),
      servers_(conf.endpoint.servers, conf.endpoint.resolver,
               "redis \"" + conf.endpoint.name + "\"", *this, log),
      tls_(conf.endpoint.tls.get(), sessions, counts.own),
      sentinel_(make_sentinel_master(zone)),
      connection_(conf.endpoint, addresses(), tls_.peer(), conf.settings.keys.probe(), *this, log),
      management_(conf.endpoint, addresses(), tls_.peer(), conf.settings.keys.probe(), *this, log),
      feed_(conf.endpoint, addresses(), tls_.peer(), engine_, counts.workers, log) {}

std::unique_ptr<SentinelMaster> RedisClient::make_sentinel_master(gateway::Zone& zone) {
    if (conf_.sentinel.group == nullptr) {
        return nullptr;
    }
    redis::MasterListener& listener = *this;
    return std::make_unique<SentinelMaster>(conf_, zone, statistics(), tls_.peer(), listener, log_);
}

std::optional<NamedServer> RedisClient::master_of(redis::Slot /*slot*/) const {
    const auto used = management_.address();
    if (!used) {
        return std::nullopt;
    }
    redis::AddressList address({*used});
    if (sentinel_ != nullptr && sentinel_->addresses().contains(*used)) {
        if (auto name = sentinel_->name()) {
            return NamedServer{.name = std::move(*name), .addresses = std::move(address)};
        }
    }
    auto name = redis::parse_server_address(used->name(), "");
    return NamedServer{.name = name.value_or(redis::ServerAddress{}),
                       .addresses = std::move(address)};
}

std::optional<Electorate> RedisClient::electorate() {
    return sentinel_ != nullptr ? std::optional(sentinel_->electorate()) : std::nullopt;
}

void RedisClient::search_master() noexcept {
    if (sentinel_ != nullptr) {
        sentinel_->search();
    }
}

void RedisClient::follow_addresses() noexcept {
    connection_.follow_addresses();
    management_.follow_addresses();
    // During a move, the old server still publishes, and the new one may not be reachable.
    if (!connection_.is_moving()) {
        feed_.subscription().follow_addresses();
    }
}

RedisClient::~RedisClient() {
    workers_.breaker_open.erase(engine_.worker().number(), engine_.worker().process());
}

void RedisClient::on_answer(std::chrono::microseconds round_trip) noexcept {
    statistics().round_trips.note(round_trip);
}

void RedisClient::on_error() noexcept {
    statistics()["errors"].add();
}

void RedisClient::on_connected(bool is_first) noexcept {
    if (!is_first) {
        statistics()["reconnects"].add();
    }
    engine_.publish_plans();
}

void RedisClient::on_moved() noexcept {
    feed_.subscription().follow_addresses();
    if (std::exchange(has_master_, true)) {
        engine_.changes().on_moved();
    }
}

void RedisClient::on_refusal(std::string_view message) noexcept {
    // READONLY follows a failover: another server now accepts writes and publishes changes. The
    // name may have a new address.
    if (redis::has_error_code(message, "READONLY")) {
        renews_subscription_ = true;
        servers_.resolve_now();
    }
    search_master();
}

void RedisClient::on_time(ExactSteadyTime sent, ExactSteadyTime received,
                          ExactInstant time) noexcept {
    engine_.restart_clock(0, sent, received, time);
    if (std::exchange(renews_subscription_, false)) {
        feed_.subscription().renew();
    }
}

void RedisClient::on_breaker_open(std::string_view reason) noexcept {
    statistics()["breaker_opened"].add();
    const bool is_first = [&] {
        const gateway::LockedNode node(engine_.zone());
        const bool none = workers_.breaker_open.count(WorkerSet::kMost) == 0;
        workers_.breaker_open.insert(engine_.worker().number(), engine_.worker().process());
        return none;
    }();
    // Each worker has its own breaker; only the first one that opens is logged.
    if (is_first) {
        const redis::LogText shown(reason);
        ngx_str_t text = borrow(shown);
        ngx_log_error(NGX_LOG_ERR, log_, 0, "tollgate: redis \"%s\" is out of reach: %V",
                      conf_.endpoint.name.c_str(), &text);
    }
}

void RedisClient::on_breaker_close() noexcept {
    const bool is_last = [&] {
        const gateway::LockedNode node(engine_.zone());
        workers_.breaker_open.erase(engine_.worker().number(), engine_.worker().process());
        return workers_.breaker_open.count(WorkerSet::kMost) == 0;
    }();
    if (is_last) {
        ngx_log_error(NGX_LOG_NOTICE, log_, 0, "tollgate: redis \"%s\" is back",
                      conf_.endpoint.name.c_str());
    }
    engine_.publish_plans();
}

}  // namespace tollgate::http
