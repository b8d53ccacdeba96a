#include "module/http/sentinel_master.hpp"

namespace tollgate::http {

namespace {

std::uint32_t this_process() {
    return static_cast<std::uint32_t>(ngx_pid);
}

/// One worker of the node watches. ngx_worker is 0 also without worker processes.
bool is_watcher() {
    return ngx_worker == 0;
}

}  // namespace

SentinelMaster::SentinelMaster(const RedisConf& conf, gateway::Zone& zone,
                               RedisStatistics& statistics, redis::TlsPeer* tls,
                               redis::MasterListener& listener, ngx_log_t* log)
    : conf_(conf), zone_(zone), statistics_(statistics), log_(log) {
    const redis::SentinelGroup& group = *conf.sentinel.group;
    if (group.endpoint.tls != nullptr) {
        redis::TlsListener& sessions = *this;
        sentinel_tls_ = std::make_unique<redis::TlsPeer>(*group.endpoint.tls, sessions);
    }
    redis::MasterBoard& board = *this;
    directory_ = std::make_unique<redis::SentinelDirectory>(
        redis::SentinelDirectory::Links{group, sentinel_tls_.get(), conf.endpoint, tls}, board,
        is_watcher(), listener, log);
}

Electorate SentinelMaster::electorate() const {
    const redis::SentinelGroup& group = *conf_.sentinel.group;
    Electorate all{.access = {group.endpoint, sentinel_tls_.get(), log_},
                   .servers = {},
                   .master_name = group.master_name};
    for (const redis::SocketAddress& sentinel : directory_->sentinels()) {
        all.servers.push_back({.name = {}, .addresses = redis::AddressList({sentinel})});
    }
    return all;
}

redis::MasterBoard::News SentinelMaster::news() noexcept {
    return with_shared([](const redis::SharedMaster& shared) {
        return News{.generation = shared.generation(), .searches = shared.searches()};
    });
}

std::optional<redis::ServerAddress> SentinelMaster::address() {
    return known_master(conf_, zone_);
}

bool SentinelMaster::claim(Time now, Time end) noexcept {
    return with_shared(
        [&](redis::SharedMaster& shared) { return shared.claim(this_process(), now, end); });
}

void SentinelMaster::take_over(Time end) noexcept {
    with_shared([&](redis::SharedMaster& shared) { shared.take_over(this_process(), end); });
}

void SentinelMaster::release() noexcept {
    with_shared([](redis::SharedMaster& shared) { shared.release(this_process()); });
}

void SentinelMaster::depose(std::uint32_t server, Time until) noexcept {
    with_shared([&](redis::SharedMaster& shared) { shared.depose(server, until); });
}

std::uint32_t SentinelMaster::deposed(Time now) noexcept {
    return with_shared([&](const redis::SharedMaster& shared) { return shared.deposed(now); });
}

void SentinelMaster::publish(const redis::ServerAddress& master) noexcept {
    const auto change = with_shared([&](redis::SharedMaster& shared) {
        return shared.publish(this_process(), conf_.sentinel.group->hash, master);
    });
    if (change == redis::SharedMaster::Change::kSwitched) {
        statistics_["failovers"].add();
    }
    if (change != redis::SharedMaster::Change::kNone) {
        ngx_log_error(NGX_LOG_NOTICE, log_, 0,
                      "tollgate: redis \"%s\": the master \"%s\" is at %s, port %ui",
                      conf_.endpoint.name.c_str(), conf_.sentinel.group->master_name.c_str(),
                      master.host.c_str(), static_cast<ngx_uint_t>(master.port));
    }
}

std::optional<redis::ServerAddress> known_master(const RedisConf& conf, gateway::Zone& zone) {
    if (conf.sentinel.group == nullptr) {
        return std::nullopt;
    }
    const gateway::LockedNode node(zone);
    return node.sentinel_master(conf.settings.name_hash).address(conf.sentinel.group->hash);
}

}  // namespace tollgate::http
