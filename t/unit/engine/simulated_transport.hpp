#pragma once

#include <algorithm>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "module/redis/topology/transport.hpp"
#include "t/unit/engine/simulated_redis.hpp"
#include "t/unit/engine/timeline.hpp"
#include "t/unit/failing_allocator.hpp"

namespace tollgate::engine {

/// A connection to a simulated Redis: calls take their time, may be lost, and time out. After a
/// time-out all calls under way fail, and the breaker is open for a while.
class SimulatedTransport final : public redis::Transport {
  public:
    using Milliseconds = std::chrono::milliseconds;
    /// The fate of a call.
    enum class Fate {
        kAnswered,
        kNotExecuted,  ///< it never reaches Redis, and times out
        kUnsent,       ///< it is never written, and fails at once
        kUnanswered,   ///< Redis executes it; the reply is lost, and it times out
        kLate,         ///< Redis executes it; it times out, and the reply comes after that
        kHanging,  ///< Redis executes it in half of the time-out, also if it has failed meanwhile
    };

    /// `redis_offset` is what Redis's clock is ahead.
    SimulatedTransport(Timeline& timeline, SimulatedRedis& redis, Instant start,
                       const Milliseconds& redis_offset)
        : timeline_(timeline), redis_(&redis), start_(start), redis_offset_(redis_offset) {}
    /// Handlers are destroyed and get no callback.
    ~SimulatedTransport() override {
        *is_alive_ = false;
        for (const auto& pending : pending_) {
            pending->handler.reset();
            note_lost(*pending);
        }
    }
    SimulatedTransport(const SimulatedTransport&) = delete;
    SimulatedTransport& operator=(const SimulatedTransport&) = delete;

    bool is_reachable(redis::Slot slot) const noexcept override {
        return reachable && timeline_.now() >= open_until && !unreachable_slots.contains(slot);
    }
    std::uint32_t master_name(redis::Slot slot) const noexcept override {
        return slot < redis::kSlots / 2 ? 1 : 2;
    }
    void run(redis::Slot slot, redis::Call call,
             std::unique_ptr<redis::ReplyHandler> handler) noexcept override {
        const UnlimitedMemory memory;
        const bool is_counted =
            call.script != &redis::heartbeat_script() && call.script != &redis::use_script();
        calls += is_counted ? 1 : 0;
        if (!is_reachable(slot)) {
            handler->on_unsent();
            return;
        }
        const auto is_in_slot = [&](const std::string& key) {
            return redis::key_slot(key) == slot;
        };
        keys_are_in_slots =
            keys_are_in_slots && std::ranges::all_of(SimulatedRedis::keys_of(call), is_in_slot);
        if (drops_handlers) {
            return;
        }
        const Fate fate = choose_fate ? choose_fate(call) : Fate::kAnswered;
        if (fate == Fate::kUnsent) {
            handler->on_unsent();
            return;
        }
        auto pending = std::make_shared<Pending>(Pending{std::move(call), std::move(handler), {}});
        pending_.push_back(pending);
        if (fate == Fate::kLate) {
            after(delay(), [=, this] { execute(*pending); });
            after(timeout, [=] {
                if (!pending->handler->on_timeout()) {
                    pending->handler.reset();
                }
            });
            after(2 * timeout, [=, this] { answer(*pending); });
            return;
        }
        after(delay(), [=, this] {
            if (fate != Fate::kNotExecuted && fate != Fate::kHanging && pending->handler) {
                execute(*pending);
            }
            if (fate == Fate::kAnswered) {
                after(delay(), [=, this] { answer(*pending); });
            }
        });
        after(timeout, [=, this] { time_out(*pending); });
        if (fate == Fate::kHanging) {
            after(timeout / 2, [=, this] { execute(*pending); });
        }
    }
    void report_failure(redis::Slot /*slot*/, std::string_view error) noexcept override {
        refused.emplace_back(error);
    }

    /// All calls under way fail, and the breaker opens.
    void fail_all() {
        open_until = timeline_.now() + open_for();
        for (auto failed = std::exchange(pending_, {}); const auto& pending : failed) {
            if (auto handler = std::move(pending->handler)) {
                note_lost(*pending);
                handler->on_failure();
            }
        }
    }

    /// Calls are sent to another server from now on. Those under way reach it too, unless they are
    /// executed already.
    void connect_to(SimulatedRedis& redis) { redis_ = &redis; }
    /// Whether no call is under way.
    bool is_idle() const { return pending_.empty(); }

    bool reachable = true;
    int allocations_of_replies = -1;  ///< allocations_left while a handler takes its reply
    bool drops_handlers = false;      ///< destroys handlers without a callback
    Milliseconds timeout{100};
    Timeline::Time open_until{};
    std::vector<std::string> refused;
    std::int64_t calls = 0;         ///< without heartbeats and uses of keys
    bool keys_are_in_slots = true;  ///< the keys of each call are in its slot, as in a cluster
    std::set<redis::Slot> unreachable_slots;
    std::function<Timeline::Time()> delay = [] { return Milliseconds(1); };
    std::function<Milliseconds()> open_for = [] { return Milliseconds(0); };
    std::function<Fate(const redis::Call&)> choose_fate;
    /// The text that Redis answers instead of the reply, if any.
    std::function<std::optional<std::string>(const redis::Call&)> replace_reply;
    /// The error that Redis answers instead of executing the call; empty: none.
    std::function<std::string(const redis::Call&)> error_of;
    /// Called with the acquires that Redis executed: then, and when the reply arrives.
    std::function<void(const std::vector<SimulatedRedis::Executed>&)> on_executed;
    std::function<void(const std::vector<SimulatedRedis::Executed>&)> on_answered;
    /// Called when a call gets no reply. If Redis executed it, the first argument is its acquires;
    /// otherwise it is empty.
    std::function<void(const std::vector<SimulatedRedis::Executed>&, const redis::Call&)> on_lost;

  private:
    struct Pending {
        redis::Call call;
        std::unique_ptr<redis::ReplyHandler> handler;
        std::string reply;
        std::vector<SimulatedRedis::Executed> executed{};
    };

    void after(Timeline::Time time, std::function<void()> step) {
        timeline_.at(timeline_.now() + time, [alive = is_alive_, step = std::move(step)] {
            if (*alive) {
                step();
            }
        });
    }

    void execute(Pending& pending) {
        if (const auto error = error_of ? error_of(pending.call) : std::string(); !error.empty()) {
            pending.reply = "-" + error + "\r\n";
            return;
        }
        pending.reply = redis_->run(pending.call, start_ + timeline_.now() + redis_offset_);
        pending.executed = std::move(redis_->executed);
        if (on_executed) {
            on_executed(pending.executed);
        }
        if (const auto other = replace_reply ? replace_reply(pending.call) : std::nullopt) {
            pending.reply = *other;
        }
    }

    void note_lost(const Pending& pending) {
        if (on_lost) {
            on_lost(pending.executed, pending.call);
        }
    }

    static redis::ReplyPtr parse(const std::string& text) {
        redis::ReplyReader reader;
        reader.feed(text);
        return reader.next();
    }

    void answer(Pending& pending) {
        auto handler = std::move(pending.handler);
        if (!handler) {
            return;
        }
        std::erase_if(pending_, [&](const auto& other) { return other.get() == &pending; });
        if (on_answered) {
            on_answered(pending.executed);
        }
        const auto reply = parse(pending.reply);
        const int left = std::exchange(allocations_left, allocations_of_replies);
        if (reply->type == REDIS_REPLY_ERROR) {
            handler->on_error(redis::text_of(*reply));
        } else {
            handler->on_values(redis::elements_of(*reply));
        }
        allocations_left = left;
    }

    void time_out(const Pending& pending) {
        if (pending.handler) {
            fail_all();
        }
    }

    Timeline& timeline_;
    SimulatedRedis* redis_;
    Instant start_;
    const Milliseconds& redis_offset_;
    std::deque<std::shared_ptr<Pending>> pending_;
    std::shared_ptr<bool> is_alive_ = std::make_shared<bool>(true);
};

}  // namespace tollgate::engine
