#pragma once

#include <memory>
#include <string>
#include <vector>

#include "module/redis/io/name_resolution.hpp"
#include "module/redis/io/socket_address.hpp"

namespace tollgate::redis {

/// A server, with the addresses where it is found; empty if its name is resolved at run time.
struct Server {
    ServerAddress name;  ///< may be empty if it is not needed
    SocketAddresses addresses;
};

/// Keeps the addresses of some servers current, in the order of the servers. The list changes first
/// when each name is resolved or its first resolution has failed: one server alone may be
/// read-only.
class ResolvedServers : private AddressListener {
  public:
    /// `owner` is for the log, such as `redis "main"`. Addresses that need no resolution are in the
    /// list at once. Names are not resolved without a resolver. `resolver`, `listener` and `log`
    /// must outlive the object.
    ResolvedServers(std::vector<Server> servers, const Resolver& resolver, const std::string& owner,
                    AddressListener& listener, ngx_log_t* log);
    ~ResolvedServers() override = default;
    ResolvedServers(const ResolvedServers&) = delete;
    ResolvedServers& operator=(const ResolvedServers&) = delete;

    const SocketAddresses& list() const noexcept { return list_; }

    /// Resolves all names again: see NameResolution::resolve_now.
    void resolve_now() noexcept;

  private:
    void on_addresses() noexcept override;
    bool update();

    const std::vector<Server> servers_;
    AddressListener& listener_;
    ngx_log_t* log_;
    SocketAddresses list_;
    std::vector<std::unique_ptr<NameResolution>> names_;  ///< as servers_; nullptr for addresses
};

}  // namespace tollgate::redis
