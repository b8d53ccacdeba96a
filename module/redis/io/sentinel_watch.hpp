#pragma once

#include <array>
#include <optional>

#include "module/redis/io/link_conf.hpp"
#include "module/redis/io/socket_address.hpp"
#include "module/redis/io/subscription.hpp"

namespace tollgate::redis {

/// Subscriptions to `+switch-master` at two different Sentinels, or at one if there is only one.
class SentinelWatch {
  public:
    /// All arguments must outlive the object.
    SentinelWatch(const Access& access, MessageListener& listener)
        : access_(access), listener_(listener) {}

    /// These are the Sentinels from now on. A subscription whose Sentinel is among them may remain.
    /// Throws std::bad_alloc. Must not be called by the listener.
    void follow(const SocketAddresses& sentinels);

  private:
    /// A subscription to one of some Sentinels.
    struct Watch {
        SocketAddresses sentinels;
        std::optional<Subscription> subscription;
    };

    const Access access_;
    MessageListener& listener_;
    std::array<Watch, 2> watches_;
};

}  // namespace tollgate::redis
