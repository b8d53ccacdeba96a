#pragma once

#include <string>
#include <vector>

#include "module/redis/io/server_addresses.hpp"
#include "module/redis/topology/server_address.hpp"

namespace tollgate::redis {

/// The addresses of a server that a Sentinel or a cluster reports. An IP address is known at once.
/// A host name is resolved at run time, or never if there is no resolver.
class ReportedAddress {
  public:
    /// `owner` is for the log, as in ServerAddresses. `resolver` may be without a resolver.
    /// `resolver`, `listener` and `log` must outlive the object. Throws std::bad_alloc.
    ReportedAddress(const ServerAddress& server, const Resolver& resolver, const std::string& owner,
                    AddressListener& listener, ngx_log_t* log);
    ~ReportedAddress() = default;
    ReportedAddress(const ReportedAddress&) = delete;
    ReportedAddress& operator=(const ReportedAddress&) = delete;

    /// Empty until the name is resolved.
    const AddressList& list() const noexcept { return addresses_.list(); }
    /// Whether the server has a host name, and there is no resolver.
    bool is_unresolvable() const noexcept {
        return servers_.front().addresses.empty() && servers_.front().host.empty();
    }
    /// See NameResolution.
    void resolve_now() noexcept { addresses_.resolve_now(); }

  private:
    const std::vector<Server> servers_;  ///< one
    ServerAddresses addresses_;
};

}  // namespace tollgate::redis
