#pragma once

#include <chrono>
#include <memory>

#include "module/engine/engine_context.hpp"
#include "module/engine/node_call.hpp"

namespace tollgate::engine {

/// Counts the nodes that share a Redis. Each node enters itself in Redis (Keys::nodes) every
/// second, or less often if there are more than a hundred nodes. The count is in the zone:
/// SharedRedis. It says how much a node may grant alone while Redis is unreachable: see
/// decide_alone.
class NodeHeartbeat : private Pinned {
  public:
    /// Starts. The context must outlive it.
    explicit NodeHeartbeat(EngineContext& context);

  private:
    class Reply;

    void run() noexcept;
    bool claim_turn();
    void send();
    void apply(std::int64_t nodes);
    void pause();
    std::chrono::milliseconds interval() const;

    EngineContext& context_;
    NodeCall calls_;
    std::chrono::milliseconds pause_{};  ///< after the last refusal; 0: the last one was none
    std::unique_ptr<Timer> timer_;
};

}  // namespace tollgate::engine
