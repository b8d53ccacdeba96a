#include "module/http/redis/master_client.hpp"

#include <utility>

#include "module/redis/protocol/error_scope.hpp"
#include "module/redis/protocol/log_text.hpp"
#include "module/text/name_hash.hpp"

namespace tollgate::http {

MasterClient::MasterClient(const RedisConf& conf, std::span<const ServedTable> tables, Zone& zone,
                           TlsSessionZone* sessions, const RedisCounts& counts,
                           const Environment& environment, ngx_log_t* log)
    : conf_(conf),
      workers_(counts.workers),
      log_(log),
      engine_(conf.settings, tables, zone, counts.own, *this, environment),
      servers_(conf.link.servers, conf.link.resolver, "redis \"" + conf.link.name + "\"", *this,
               log),
      tls_(conf.link.tls.get(), sessions, counts.own),
      sentinels_(make_sentinels()),
      management_(access(), addresses(), conf.settings.keys.probe(), *this),
      connection_(access(), addresses(), conf.settings.keys.probe(), *this),
      feed_(access(), addresses(), engine_, counts.workers) {}

std::unique_ptr<redis::SentinelDirectory> MasterClient::make_sentinels() {
    const redis::SentinelGroup* const group = conf_.sentinel.group.get();
    if (group == nullptr) {
        return nullptr;
    }
    if (group->link.tls != nullptr) {
        sentinel_tls_.emplace(*group->link.tls, no_sessions_);
    }
    redis::SentinelClient& client = *this;
    // ngx_worker is 0 also without worker processes.
    return std::make_unique<redis::SentinelDirectory>(*group, sentinel_access(), access(),
                                                      ngx_worker == 0, client);
}

std::optional<redis::Server> MasterClient::master_of(redis::Slot /*slot*/) const {
    const auto used = management_.address();
    if (!used) {
        return std::nullopt;
    }
    redis::SocketAddresses address({*used});
    if (sentinels_ != nullptr && contains(sentinels_->addresses(), *used)) {
        if (auto name = sentinels_->name()) {
            return redis::Server{.name = std::move(*name), .addresses = std::move(address)};
        }
    }
    auto name = redis::parse_server_address(used->name(), "");
    return redis::Server{.name = name.value_or(redis::ServerAddress{}),
                         .addresses = std::move(address)};
}

std::optional<Electorate> MasterClient::electorate() {
    if (sentinels_ == nullptr) {
        return std::nullopt;
    }
    Electorate all{.access = sentinel_access(),
                   .servers = {},
                   .master_name = conf_.sentinel.group->master_name};
    for (const redis::SocketAddress& sentinel : sentinels_->sentinels()) {
        all.servers.push_back({.name = {}, .addresses = {sentinel}});
    }
    return all;
}

void MasterClient::search_master() noexcept {
    if (sentinels_ != nullptr) {
        sentinels_->search();
    }
}

void MasterClient::with_shared_master(const std::function<void(redis::SharedMaster&)>& use) const {
    const LockedNode node(engine_.zone());
    use(node.sentinel_master(conf_.settings.name_hash));
}

void MasterClient::follow_addresses() noexcept {
    connection_.follow_addresses();
    management_.follow_addresses();
    // During a move, the old server still publishes, and the new one may not be reachable.
    if (!connection_.is_moving()) {
        feed_.follow_addresses();
    }
}

MasterClient::~MasterClient() {
    workers_.breaker_open.erase(engine_.worker().number(), engine_.worker().process());
}

void MasterClient::on_answer(std::chrono::microseconds round_trip) noexcept {
    statistics().round_trips.note(round_trip);
}

void MasterClient::on_error() noexcept {
    statistics()["errors"].add();
}

void MasterClient::on_connected(bool is_first) noexcept {
    if (!is_first) {
        statistics()["reconnects"].add();
    }
    engine_.publish_plans();
}

void MasterClient::on_moved() noexcept {
    feed_.follow_addresses();
    if (std::exchange(has_master_, true)) {
        const auto& address = connection_.address();
        engine_.identity().changes.on_moved(address ? name_hash(address->name()) : 0);
    }
}

void MasterClient::on_refusal(std::string_view message) noexcept {
    // READONLY follows a failover: another server now accepts writes and publishes changes. The
    // name may have a new address.
    if (redis::has_error_code(message, "READONLY")) {
        renews_subscription_ = engine_.steady_time();
        servers_.resolve_now();
    }
    search_master();
}

void MasterClient::on_time(ExactSteadyTime sent, ExactSteadyTime received,
                           ExactInstant time) noexcept {
    engine_.restart_clock(0, sent, received, time);
    if (const auto refused = std::exchange(renews_subscription_, std::nullopt)) {
        engine_.identity().changes.subscription().renew(*refused);
    }
}

void MasterClient::on_breaker_open(std::string_view reason) noexcept {
    statistics()["breaker_opened"].add();
    const bool is_first = [&] {
        const LockedNode node(engine_.zone());
        const bool none = workers_.breaker_open.count(WorkerSet::kMost) == 0;
        workers_.breaker_open.insert(engine_.worker().number(), engine_.worker().process());
        return none;
    }();
    // Each worker has its own breaker; only the first one that opens is logged.
    if (is_first) {
        const redis::LogText shown(reason);
        ngx_str_t text = borrow(shown);
        ngx_log_error(NGX_LOG_ERR, log_, 0, "tollgate: redis \"%s\" is unreachable: %V",
                      conf_.link.name.c_str(), &text);
    }
}

void MasterClient::on_breaker_close() noexcept {
    const bool is_last = [&] {
        const LockedNode node(engine_.zone());
        workers_.breaker_open.erase(engine_.worker().number(), engine_.worker().process());
        return workers_.breaker_open.count(WorkerSet::kMost) == 0;
    }();
    if (is_last) {
        ngx_log_error(NGX_LOG_NOTICE, log_, 0, "tollgate: redis \"%s\" is back",
                      conf_.link.name.c_str());
    }
    engine_.publish_plans();
}

}  // namespace tollgate::http
