#pragma once

#include <memory>
#include <string_view>

#include "module/process/environment.hpp"
#include "module/quota/redis_clock.hpp"
#include "module/redis/protocol/log_throttle.hpp"
#include "module/redis/protocol/pipeline.hpp"
#include "module/redis/protocol/script.hpp"
#include "module/redis/topology/key_slot.hpp"

namespace tollgate::engine {

class EngineContext;

/// How a node calls a script, for one function of the gateway: the only way to
/// redis::Transport::run. What Redis refuses to a call concerns this function alone: the connection
/// goes on, and so do the calls of all others. The log says once what does not work, and why, until
/// a call succeeds; at most once a second.
class NodeCall : private Pinned {
  public:
    class Reply;

    /// `consequence` is what the log says of a refusal. It ends with a colon and a space. If it is
    /// empty, the log has the error alone, once a second at most. The context and the text must
    /// outlive this.
    NodeCall(EngineContext& context, LogLevel level, std::string_view consequence)
        : context_(context), level_(level), consequence_(consequence) {}

    /// Calls a script of redis::make_node_script, whose keys are all in this slot: see
    /// redis::Transport::run. One function of the reply is called, once.
    void run(redis::Slot slot, redis::Call call, std::unique_ptr<Reply> reply) noexcept;

    /// The Redis time after which a call that is sent now must not be executed, because the node
    /// does not wait for it any more; 0 if the clock of the slot's master is not known.
    Instant deadline(redis::Slot slot) const;

  private:
    void log(redis::Slot slot, std::string_view error, bool is_reply) noexcept;

    EngineContext& context_;
    LogLevel level_;
    std::string_view consequence_;
    redis::LogThrottle lines_;
    bool is_refused_ = false;  ///< the log says so
};

/// Receives what became of a call. It must not outlive the NodeCall, except to be destroyed.
class NodeCall::Reply : public redis::ReplyHandler {
  public:
    void on_values(redis::ReplyValues values) noexcept final;
    void on_error(std::string_view error) noexcept final;

  protected:
    /// The values that the script returned after the token.
    virtual void on_result(redis::ReplyValues values) noexcept = 0;
    /// Redis refuses the call. The script may have executed a part of it.
    virtual void on_refusal(std::string_view /*error*/) noexcept { on_failure(); }
    /// Whether on_refusal does what this error asks for: it is not logged.
    virtual bool is_expected(std::string_view /*error*/) const noexcept { return false; }

  private:
    friend class NodeCall;
    void refuse(std::string_view error, bool is_reply) noexcept;

    NodeCall* call_ = nullptr;
    redis::Slot slot_ = 0;
};

}  // namespace tollgate::engine
