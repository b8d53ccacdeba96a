#pragma once

#include <chrono>
#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "module/http/redis/redis_client.hpp"
#include "module/management/acknowledgement.hpp"
#include "module/redis/io/socket_address.hpp"
#include "module/redis/topology/presence.hpp"
#include "module/redis/topology/server_address.hpp"

namespace tollgate::http {

/// A server that has executed calls.
struct UsedServer {
    redis::SocketAddresses addresses;
    std::set<redis::Slot> slots;  ///< of the calls
};
using UsedServers = std::map<redis::ServerAddress, UsedServer>;

/// Asks the servers that a worker has used, and its deployment. Each question has a link of its
/// own, so that no request waits for it.
class WorkerDeployment final : public management::AskedDeployment {
  public:
    /// Both arguments must outlive the object. Each server has a slot. Throws std::bad_alloc.
    WorkerDeployment(RedisClient& transport, const UsedServers& used);

    std::size_t used_servers() const override { return used_.size(); }
    management::Task<management::Answer> ask_role(std::size_t server) override;
    management::Task<management::Answer> await_replica(std::size_t server) override;
    management::Electors electors() override;
    management::Task<std::optional<redis::Presence>> ask_presence(bool is_last) override;

  private:
    const UsedServer& server_at(std::size_t index) const;
    management::Task<std::vector<redis::Value>> ask(std::size_t server,
                                                    std::vector<redis::Words> commands,
                                                    std::chrono::milliseconds timeout);

    RedisClient& transport_;
    const UsedServers& used_;
    redis::SlotsByServer slots_;
    std::optional<Electorate> electorate_;
};

}  // namespace tollgate::http
