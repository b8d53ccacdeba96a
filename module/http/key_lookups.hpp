#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <unordered_map>

#include "module/http/nginx.hpp"
#include "module/key/api_key.hpp"
#include "module/quota/redis_clock.hpp"
#include "module/redis/io/event.hpp"

struct redisReply;

namespace tollgate::redis {
struct Lookup;
}

namespace tollgate::http {

class KeyLookups;
class RedisClient;

/// A member of a queue of nginx's, and the object that it is part of.
template <typename Owner>
struct QueueLink : ngx_queue_t {
    Owner* owner;
};

/// Waits for the record of one key. It may leave at any time: then it hears nothing more.
class KeyWaiter {
  public:
    KeyWaiter() = default;
    virtual ~KeyWaiter() { leave_lookup(); }
    KeyWaiter(const KeyWaiter&) = delete;
    KeyWaiter& operator=(const KeyWaiter&) = delete;

    /// The look-up can be sent now. False: this waiter does not want it any more and hears nothing
    /// more. Only the first waiters of a look-up are asked, until one wants it.
    virtual bool on_turn() noexcept = 0;
    /// Redis answered; the outcome is never kUnexpected. The record is in the cache.
    virtual void on_record(const redis::Lookup& lookup) noexcept = 0;
    /// Redis is out of reach, or its answer is no record.
    virtual void on_lookup_failed() noexcept = 0;

    void leave_lookup() noexcept;

  private:
    friend class KeyLookups;
    struct Pending;

    QueueLink<KeyWaiter> link_{{}, this};
    Pending* pending_ = nullptr;  ///< the look-up that it waits for
};

/// A look-up, and the requests that wait for it.
struct KeyWaiter::Pending {
    Pending(KeyLookups& owner, const KeyDigest& digest);
    ~Pending();
    Pending(const Pending&) = delete;
    Pending& operator=(const Pending&) = delete;

    KeyLookups& lookups;
    const KeyDigest key;
    ngx_queue_t waiters{};
    QueueLink<Pending> turn{{}, this};
    bool waits_for_turn = false;
    bool was_repeated = false;
    bool is_lost = false;    ///< its last call was destroyed before it was answered
    std::uint64_t call = 0;  ///< the number of its last call
};

/// The look-ups of a worker in one Redis. Look-ups of the same key share a call. A limited number
/// of calls is under way at once, so that an acquire never waits behind more; further look-ups wait
/// their turn. A look-up that nobody waits for any more is not sent. Answers go into the zone.
class KeyLookups {
  public:
    /// How many calls may be under way at once.
    static constexpr std::size_t kMostCalls = 64;

    /// Whose turn comes first; within each, look-ups are sent in the order in which they came.
    enum class Priority : std::uint8_t {
        kKnown,    ///< keys that the node knows, or that `events` announced
        kUnknown,  ///< all others, of which there may be a flood
    };

    /// The client must outlive it, and it must outlive the client's connection.
    explicit KeyLookups(RedisClient& client);
    ~KeyLookups();
    KeyLookups(const KeyLookups&) = delete;
    KeyLookups& operator=(const KeyLookups&) = delete;

    /// Lets the waiter, which must not be waiting yet, wait for this key's record. The waiter may
    /// be told before this returns. Throws std::bad_alloc; then it does not wait.
    void submit(KeyWaiter& waiter, const KeyDigest& key, Priority priority);

  private:
    friend class KeyWaiter;
    using Pending = KeyWaiter::Pending;
    class Call;
    struct DigestHash {
        std::size_t operator()(const KeyDigest& digest) const noexcept {
            std::size_t hash = 0;
            std::memcpy(&hash, digest.data(), sizeof(hash));
            return hash;
        }
    };

    Pending* next_in_turn();
    void send_waiting() noexcept;
    void send_or_fail(Pending& pending) noexcept;
    void send(Pending& pending);
    bool is_wanted(Pending& pending) noexcept;
    void forget(Pending& pending) noexcept;
    bool take_answer(const Call& call, std::span<const redisReply* const> values);
    bool keep(const Call& call, const redis::Lookup& lookup) const;
    void lose(const Call& call) noexcept;
    void fail_lost() noexcept;
    Pending* pending_of(const Call& call) noexcept;
    void fail(const Call& call) noexcept;
    void fail(const KeyDigest& key) noexcept;
    template <typename Tell>
    void finish(const KeyDigest& key, Tell tell) noexcept;

    RedisClient& client_;
    std::array<ngx_queue_t, 2> turns_{};  ///< look-ups that wait to be sent, by Priority
    std::unordered_map<KeyDigest, Pending, DigestHash> pending_;
    std::size_t calls_ = 0;  ///< under way
    std::uint64_t last_call_ = 0;
    bool sending_ = false;
    redis::Event loss_;
};

}  // namespace tollgate::http
