#pragma once

#include <chrono>
#include <memory>

#include "module/gateway/environment.hpp"

namespace tollgate::gateway {

class Engine;

/// Counts the nodes that share a Redis. Each node enters itself in Redis (Keys::nodes) every
/// second, or less often if there are more than a hundred nodes. The count is in the zone:
/// SharedRedis. It says how much a node may grant alone while Redis is unreachable: see
/// decide_alone.
class NodeHeartbeat {
  public:
    /// Starts. The engine must outlive it.
    explicit NodeHeartbeat(Engine& engine);
    ~NodeHeartbeat() = default;
    NodeHeartbeat(const NodeHeartbeat&) = delete;
    NodeHeartbeat& operator=(const NodeHeartbeat&) = delete;

    /// The number of nodes when Redis was last reachable; 1 if it was never counted.
    static std::int64_t nodes(const Engine& engine);

  private:
    class Reply;

    void run() noexcept;
    bool claim_turn();
    void send();
    void apply(std::int64_t nodes);
    void refuse(std::string_view message);
    std::chrono::milliseconds interval() const;

    Engine& engine_;
    bool was_refused_ = false;
    std::unique_ptr<Timer> timer_;
};

}  // namespace tollgate::gateway
