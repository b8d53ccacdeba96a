#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "module/redis/protocol/interface.hpp"
#include "module/redis/protocol/pipeline.hpp"
#include "module/redis/protocol/script.hpp"
#include "module/redis/topology/key_slot.hpp"

namespace tollgate::redis {

/// Carries calls of scripts to the masters of one `tollgate_redis`. Each master has a circuit
/// breaker and a clock of its own. Every slot of a Redis that is not a cluster has the same master.
/// Once the transport is destroyed, handlers are destroyed without being called.
class Transport : public Interface {
  public:
    /// Whether the master of this slot is known, and its breaker lets calls pass.
    virtual bool is_reachable(Slot slot) const noexcept = 0;
    /// Calls a script whose keys are all in this slot. If that fails at once, the handler's
    /// on_failure is called before this returns.
    virtual void run(Slot slot, Call call, std::unique_ptr<ReplyHandler> handler) noexcept = 0;
    /// The name of the slot's master in the zone: see Zone::redis.
    virtual std::uint32_t master_name(Slot slot) const noexcept = 0;
    /// The slot's master answered with this error, which concerns the server
    /// (ErrorScope::kServer) but was found among the values of a reply. Counts as a failure
    /// of the server.
    virtual void report_failure(Slot slot, std::string_view error) noexcept = 0;
};

}  // namespace tollgate::redis
