#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>

#include "module/engine/engine_context.hpp"
#include "module/engine/node_call.hpp"
#include "module/key/api_key.hpp"
#include "module/process/wait_list.hpp"
#include "module/redis/protocol/lookup.hpp"

namespace tollgate::engine {

class KeyLookups;
class LookupCall;

/// Waits for the record of one key. May be destroyed at any time; no callback follows.
class LookupWaiter : public WaitLink<LookupWaiter> {
  public:
    LookupWaiter() = default;
    LookupWaiter(const LookupWaiter&) = delete;
    LookupWaiter& operator=(const LookupWaiter&) = delete;
    virtual ~LookupWaiter() { leave_lookup(); }

    /// The look-up can be sent now. False: the waiter does not need it any more and gets no further
    /// callback. Only the first waiters of a look-up are asked, until one needs it.
    virtual bool on_turn() noexcept = 0;
    /// Redis answered a call that was sent then: a change that was announced since may be missing.
    /// The outcome is never kUnexpected. The record is in the zone.
    virtual void on_record(const redis::Lookup& lookup, SteadyTime sent) noexcept = 0;
    /// Redis is unreachable, or its reply is not a record.
    virtual void on_lookup_failed() noexcept = 0;

    void leave_lookup() noexcept;

  private:
    friend class KeyLookups;
    struct Pending;

    Pending* pending_ = nullptr;  ///< the look-up that it waits for
};

/// A look-up and its waiters.
struct LookupWaiter::Pending : WaitLink<LookupWaiter::Pending> {
    Pending(KeyLookups& owner, const KeyDigest& digest, std::string_view name)
        : lookups(owner), key(digest), group(name) {}

    KeyLookups& lookups;
    const KeyDigest key;
    const std::string group;  ///< whose record it is; empty: that of a key
    WaitList<LookupWaiter> waiters;
    bool was_repeated = false;
    bool is_lost = false;    ///< its last call was destroyed unanswered
    std::uint64_t call = 0;  ///< the number of its last call
};

/// The look-ups of keys' records that a worker makes in one Redis. Look-ups of the same key share a
/// call. At most kMostCalls are under way; further look-ups queue, so that an acquire never waits
/// behind more. A queued look-up without waiters is dropped. Records are put into the zone.
class KeyLookups {
  public:
    static constexpr std::size_t kMostCalls = 64;

    /// Which queued look-ups are sent first; look-ups of one priority are sent in order.
    enum class Priority : std::uint8_t {
        kKnown,    ///< keys that are cached, or that `events` announced
        kUnknown,  ///< all others; a flood of made-up keys is here
    };

    /// The context must outlive it.
    explicit KeyLookups(EngineContext& context);
    /// Waiters get no callback.
    ~KeyLookups();
    KeyLookups(const KeyLookups&) = delete;
    KeyLookups& operator=(const KeyLookups&) = delete;

    /// Adds a waiter, which must not wait already, for this key's record. Its callback may be
    /// called before this returns. Throws std::bad_alloc; then it does not wait.
    void submit(LookupWaiter& waiter, const KeyDigest& key, Priority priority) {
        submit(waiter, key, priority, {});
    }
    /// Adds a waiter, which must not wait already, for the record of a group. The key of the group
    /// (see group_key) has this digest. Its callback may be called before this returns. Throws
    /// std::bad_alloc; then it does not wait.
    void submit_group(LookupWaiter& waiter, const KeyDigest& key, std::string_view group) {
        submit(waiter, key, Priority::kKnown, group);
    }

  private:
    friend class LookupWaiter;
    friend class LookupCall;
    using Pending = LookupWaiter::Pending;
    struct DigestHash {
        std::size_t operator()(const KeyDigest& digest) const noexcept {
            std::size_t hash = 0;
            std::memcpy(&hash, digest.data(), sizeof(hash));
            return hash;
        }
    };

    void submit(LookupWaiter& waiter, const KeyDigest& key, Priority priority,
                std::string_view group);
    Pending* next_queued();
    void send_queued() noexcept;
    void send_or_fail(Pending& pending) noexcept;
    std::string name_of(const KeyDigest& key, const std::string& group) const;
    bool send(Pending& pending);
    bool is_needed(Pending& pending) noexcept;
    void drop(const Pending& pending) noexcept;
    bool apply_reply(const LookupCall& call, redis::ReplyValues values);
    bool cache(const LookupCall& call, const redis::Lookup& lookup) const;
    void on_call_lost(const LookupCall& call) noexcept;
    void fail_lost() noexcept;
    Pending* pending_of(const LookupCall& call) noexcept;
    void fail(const LookupCall& call) noexcept;
    void fail(const KeyDigest& key) noexcept;
    template <typename Notify>
    void finish(const KeyDigest& key, Notify notify) noexcept;

    EngineContext& context_;
    NodeCall requests_{context_, LogLevel::kError, {}};
    std::array<WaitList<Pending>, 2> queues_;  ///< look-ups to be sent, by Priority
    std::unordered_map<KeyDigest, Pending, DigestHash> pending_;
    std::size_t calls_ = 0;  ///< under way
    std::uint64_t last_call_ = 0;
    bool is_sending_ = false;
    std::unique_ptr<Timer> loss_;
};

}  // namespace tollgate::engine
