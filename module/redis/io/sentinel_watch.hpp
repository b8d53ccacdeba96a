#pragma once

#include <array>
#include <optional>
#include <span>

#include "module/redis/io/address_list.hpp"
#include "module/redis/io/endpoint.hpp"
#include "module/redis/io/subscription.hpp"
#include "module/redis/io/tls_peer.hpp"

namespace tollgate::redis {

/// Subscriptions to `+switch-master` at two different Sentinels, or at one if there is only one.
class SentinelWatch {
  public:
    /// `tls` is nullptr for links without TLS. All arguments must outlive the object.
    SentinelWatch(const Endpoint& endpoint, TlsPeer* tls, MessageListener& listener, ngx_log_t* log)
        : endpoint_(endpoint), tls_(tls), listener_(listener), log_(log) {}

    /// These are the Sentinels from now on. A subscription whose Sentinel is among them may remain.
    /// Throws std::bad_alloc. Must not be called by the listener.
    void follow(std::span<const SocketAddress> sentinels);

  private:
    /// A subscription to one of some Sentinels.
    struct Watch {
        AddressList sentinels;
        std::optional<Subscription> subscription;
    };

    const Endpoint& endpoint_;
    TlsPeer* tls_;
    MessageListener& listener_;
    ngx_log_t* log_;
    std::array<Watch, 2> watches_;
};

}  // namespace tollgate::redis
