#include "module/cli/redis/masters.hpp"

#include <utility>

#include "module/cli/redis/cluster_masters.hpp"
#include "module/cli/redis/sentinel_agreement.hpp"
#include "module/cli/redis/sentinel_master.hpp"

namespace tollgate::cli {

namespace {

/// A deployment with one master, which serves all keys.
class OneMaster : public Masters {
  public:
    Route route(std::optional<std::string_view> /*key*/) override { return {master_.get()}; }

    std::optional<Route> next_route(const Route& /*asked*/, std::optional<std::string_view> /*key*/,
                                    const std::string& /*error*/,
                                    redis::CallRetries& /*retries*/) override {
        return std::nullopt;
    }

    bool may_span(std::string_view /*key*/, std::string_view /*other*/) const override {
        return true;
    }

    std::vector<RedisConnection*> all() override { return {master_.get()}; }

  protected:
    explicit OneMaster(std::unique_ptr<RedisConnection> master) : master_(std::move(master)) {}

    const RedisConnection& master() const { return *master_; }
    /// Returns whether it is another server.
    bool replace(std::unique_ptr<RedisConnection> master) {
        const bool differs = !(master->endpoint().address == master_->endpoint().address);
        master_ = std::move(master);
        return differs;
    }

  private:
    std::unique_ptr<RedisConnection> master_;
};

std::unique_ptr<RedisConnection> connect_to_server(const RedisUrl& url) {
    const auto address = url.servers.empty() ? redis::ServerAddress() : url.servers.front();
    auto server = std::make_unique<RedisConnection>(Endpoint{.address = address, .path = url.path},
                                                    url.login, url.tls);
    server->select(url.database);
    return server;
}

/// One Redis that is always the master.
class SingleServer final : public OneMaster {
  public:
    explicit SingleServer(RedisUrl url) : OneMaster(connect_to_server(url)), url_(std::move(url)) {}

    Presence presence_of(const SlotsByMaster& /*used*/) override { return Presence::kPresent; }
    bool reconnect() override { return replace(connect_to_server(url_)); }

  private:
    RedisUrl url_;
};

/// The master that Sentinels name.
class SentinelMaster final : public OneMaster {
  public:
    explicit SentinelMaster(RedisUrl url)
        : OneMaster(connect_to_sentinel_master(url)), url_(std::move(url)) {}

    Presence presence_of(const SlotsByMaster& /*used*/) override {
        auto agreement = ask_all_sentinels(url_, master().endpoint().address);
        named_ = std::move(agreement.other);
        return agreement.presence.value_or(Presence::kUnknown);
    }

    /// The Sentinel that is asked first may not know the new master yet.
    bool reconnect() override {
        auto master = named_ ? connect_if_master(url_, *named_) : nullptr;
        named_.reset();
        return replace(master != nullptr ? std::move(master) : connect_to_sentinel_master(url_));
    }

  private:
    RedisUrl url_;
    std::optional<redis::ServerAddress> named_;  ///< instead of the master, by the last failover
};

}  // namespace

std::unique_ptr<Masters> connect_to_masters(const RedisUrl& url) {
    switch (url.kind) {
        case RedisUrl::Kind::kCluster:
            return std::make_unique<ClusterMasters>(url);
        case RedisUrl::Kind::kSentinel:
            return std::make_unique<SentinelMaster>(url);
        case RedisUrl::Kind::kServer:
            break;
    }
    return std::make_unique<SingleServer>(url);
}

}  // namespace tollgate::cli
