#include "module/engine/node_heartbeat.hpp"

#include <algorithm>
#include <utility>

#include "module/redis/protocol/error_scope.hpp"
#include "module/redis/protocol/node_calls.hpp"

namespace tollgate::engine {

namespace {

using std::chrono::milliseconds;

/// The interval of a node's heartbeats.
constexpr milliseconds kLeastInterval{1000};
/// How early a heartbeat may be sent, so that a worker that sent one sends the next one too.
constexpr milliseconds kEarly{100};
/// All nodes together send at most a hundred heartbeats a second.
constexpr milliseconds kPerNode{10};
constexpr milliseconds kLongestInterval{60'000};
/// A node counts for this number of intervals after its heartbeat.
constexpr int kIntervals = 3;
/// Much more than anybody has; Redis could hold anything.
constexpr std::int64_t kMostNodes = 100'000;

}  // namespace

class NodeHeartbeat::Reply final : public NodeCall::Reply {
  public:
    explicit Reply(NodeHeartbeat& owner) : owner_(owner) {}

    void on_result(redis::ReplyValues values) noexcept override {
        if (const auto nodes = redis::read_heartbeat(values)) {
            attempt(owner_.context_.log(), [&] { owner_.apply(*nodes); });
        }
    }
    void on_refusal(std::string_view error) noexcept override {
        if (redis::is_lasting(error)) {
            attempt(owner_.context_.log(), [&] { owner_.pause(); });
        }
    }
    void on_failure() noexcept override {}  // The next heartbeat follows.

  private:
    NodeHeartbeat& owner_;
};

NodeHeartbeat::NodeHeartbeat(EngineContext& context)
    : context_(context),
      calls_(context, LogLevel::kWarning,
             "nodes are not counted; a node that decides alone grants all that is left: "),
      timer_(context.make_timer([this] { run(); })) {
    timer_->start(milliseconds(0));
}

milliseconds NodeHeartbeat::interval() const {
    return std::clamp(milliseconds(context_.nodes() * kPerNode), kLeastInterval, kLongestInterval);
}

void NodeHeartbeat::run() noexcept {
    attempt(context_.log(), [&] {
        if (claim_turn()) {
            send();
        }
    });
    timer_->start(kLeastInterval);
}

/// Whether this worker sends the heartbeat that is due now.
bool NodeHeartbeat::claim_turn() {
    const redis::Keys& keys = context_.settings().keys;
    if (context_.worker().is_exiting() ||
        !context_.transport().is_reachable(context_.slot_of_key(keys.nodes()))) {
        return false;
    }
    SharedRedis& shared = context_.zone().redis(context_.settings().name_hash);
    const LockedNode node(context_.zone());
    const SteadyTime now = context_.steady_time();
    if (now < shared.heartbeat_due && shared.heartbeat_due - now <= kLongestInterval) {
        return false;
    }
    shared.heartbeat_due = now + interval() - kEarly;
    return true;
}

void NodeHeartbeat::send() {
    const redis::Keys& keys = context_.settings().keys;
    calls_.run(context_.slot_of_key(keys.nodes()),
               redis::heartbeat_call(keys, context_.zone().node_name(), interval() * kIntervals),
               std::make_unique<Reply>(*this));
}

/// A smaller number counts only if Redis reports smaller numbers for some intervals without a gap:
/// after an outage, or after Redis has lost the set, the other nodes have yet to enter themselves
/// again.
void NodeHeartbeat::apply(std::int64_t nodes) {
    pause_ = {};
    SharedRedis& shared = context_.zone().redis(context_.settings().name_hash);
    const LockedNode node(context_.zone());
    const SteadyTime now = context_.steady_time();
    const SteadyTime patience = interval() * kIntervals;
    const auto counted = static_cast<std::uint32_t>(std::clamp<std::int64_t>(nodes, 1, kMostNodes));
    const bool has_gap = now - shared.nodes_counted >= patience;
    shared.nodes_counted = now;
    const bool is_fewer = counted < shared.nodes.value();
    if (is_fewer && (has_gap || shared.fewer_nodes_since == SteadyTime{})) {
        shared.fewer_nodes_since = now;
    } else if (!is_fewer || now - shared.fewer_nodes_since >= patience - kEarly) {
        shared.nodes.set(counted);
        shared.fewer_nodes_since = {};
    }
}

/// The user of Redis may be refused for a moment, or until an operator changes its ACL. Each
/// refusal costs a call, so the pauses become longer.
void NodeHeartbeat::pause() {
    pause_ = std::clamp(2 * pause_, interval(), kLongestInterval);
    SharedRedis& shared = context_.zone().redis(context_.settings().name_hash);
    const LockedNode node(context_.zone());
    shared.heartbeat_due = context_.steady_time() + pause_ - kEarly;
}

}  // namespace tollgate::engine
