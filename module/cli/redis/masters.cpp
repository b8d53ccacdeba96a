#include "module/cli/redis/masters.hpp"

#include <functional>
#include <utility>

#include "module/cli/redis/cluster_masters.hpp"
#include "module/cli/redis/sentinel_master.hpp"

namespace tollgate::cli {

namespace {

/// A deployment with one master, which serves all keys.
class OneMaster : public Masters {
  public:
    using Connect = std::function<std::unique_ptr<RedisConnection>()>;

    explicit OneMaster(Connect connect) : connect_(std::move(connect)), master_(connect_()) {}

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

    void reconnect() override { master_ = connect_(); }

  private:
    Connect connect_;
    std::unique_ptr<RedisConnection> master_;
};

std::unique_ptr<RedisConnection> connect_to_server(const RedisUrl& url) {
    const auto address = url.servers.empty() ? redis::ServerAddress() : url.servers.front();
    auto server = std::make_unique<RedisConnection>(Endpoint{.address = address, .path = url.path},
                                                    url.login, url.tls);
    server->select(url.database);
    return server;
}

}  // namespace

std::unique_ptr<Masters> connect_to_masters(const RedisUrl& url) {
    switch (url.kind) {
        case RedisUrl::Kind::kCluster:
            return std::make_unique<ClusterMasters>(url);
        case RedisUrl::Kind::kSentinel:
            return std::make_unique<OneMaster>([url] { return connect_to_sentinel_master(url); });
        case RedisUrl::Kind::kServer:
            break;
    }
    return std::make_unique<OneMaster>([url] { return connect_to_server(url); });
}

}  // namespace tollgate::cli
