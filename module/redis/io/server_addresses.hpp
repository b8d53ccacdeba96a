#pragma once

#include <memory>
#include <string>
#include <vector>

#include "module/redis/io/address_list.hpp"
#include "module/redis/io/name_resolution.hpp"

namespace tollgate::redis {

/// A server of the configuration: either its addresses, or a name that is resolved at run time.
struct Server {
    std::vector<SocketAddress> addresses;  ///< empty if the name is resolved at run time
    std::string host;                      ///< empty otherwise
    in_port_t port = 0;                    ///< of `host`
};

/// Keeps the addresses of some servers current, in the order of the servers. The list changes first
/// when each name is resolved or its first resolution has failed: one server alone may be
/// read-only.
class ServerAddresses : private AddressListener {
  public:
    /// `owner` is for the log, such as `redis "main"`. Addresses that need no resolution are in the
    /// list at once. All other arguments must outlive the object.
    ServerAddresses(const std::vector<Server>& servers, const Resolver& resolver,
                    const std::string& owner, AddressListener& listener, ngx_log_t* log);
    ~ServerAddresses() override = default;
    ServerAddresses(const ServerAddresses&) = delete;
    ServerAddresses& operator=(const ServerAddresses&) = delete;

    const AddressList& list() const noexcept { return list_; }

    /// Resolves all names again: see NameResolution::resolve_now.
    void resolve_now() noexcept;

  private:
    void on_addresses() noexcept override;
    bool update();

    const std::vector<Server>& servers_;
    AddressListener& listener_;
    ngx_log_t* log_;
    AddressList list_;
    std::vector<std::unique_ptr<NameResolution>> names_;  ///< as servers_; nullptr for addresses
};

}  // namespace tollgate::redis
