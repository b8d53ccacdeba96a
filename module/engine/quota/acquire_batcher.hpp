#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "module/engine/engine_context.hpp"
#include "module/engine/node_call.hpp"
#include "module/engine/quota/acquire_waiter.hpp"
#include "module/redis/protocol/acquire_codec.hpp"
#include "module/redis/topology/key_slot.hpp"
#include "module/zone/set_associative.hpp"

namespace tollgate::engine {

class UnitKeeper;

/// Sends the acquires of a worker's requests to Redis in batches. A batch is all requests for one
/// id that are alike: same quotas, cost and handling of strikes. The batches of one turn of the
/// event loop share a call, up to kMostBatches, and up to redis::kMostReplyNumbers. While a call
/// for a batch is under way, further requests for it wait; they are decided again when it ends.
class AcquireBatcher : private Pinned {
  public:
    /// Settles what calls leave.
    class Settler {
      public:
        virtual ~Settler() = default;
        /// Whether the leases of these quotas are returned at once. Locks the node.
        virtual bool returns_leases(const Quotas& quotas) const = 0;
        /// A call for the id of this request has ended, after which the node may hold more. Throws
        /// std::bad_alloc.
        virtual void settle_if_left(const AcquireRequest& request) = 0;
        /// All calls have ended.
        virtual void on_idle() noexcept = 0;
    };

    /// The arguments must outlive it. set_settler() must follow before anything else is called.
    AcquireBatcher(EngineContext& context, UnitKeeper& keeper);
    /// The settler must live until no function is called any more.
    void set_settler(Settler& settler) noexcept { settler_ = &settler; }
    /// Waiters get no callback.
    ~AcquireBatcher() = default;

    /// One callback of the waiter follows, not before this returns. Throws std::bad_alloc; then the
    /// waiter does not wait.
    void submit(AcquireWaiter& waiter, const AcquireRequest& request);

    /// Reports owed units of these quotas, and returns leases that are idle, without a request.
    /// Throws std::bad_alloc.
    void settle(const AcquireRequest& request);

    /// Asks for a lease without a request, if one is still due then (see renewal_size): with the
    /// next call for any id, after renewal_wait() at the latest.
    void renew_lease(const AcquireRequest& request) noexcept;

    /// Sends queued batches now rather than at the end of this turn.
    void flush() noexcept;

    /// Whether no call is under way or queued.
    bool is_idle() const { return batches_.empty(); }

  private:
    /// The most batches of one call; 1 after Redis answered CROSSSLOT.
    static constexpr std::size_t kMostBatches = 32;

    /// The most nodes of `batches_` that are kept for further batches.
    static constexpr std::size_t kMostSpare = 2 * kMostBatches;

    struct Batch {
        Batch(const AcquireRequest& first, redis::Slot slot_of_id) { begin(first, slot_of_id); }

        /// Makes an ended batch a new one. Throws std::bad_alloc.
        void begin(const AcquireRequest& first, redis::Slot slot_of_id) {
            id = first.id;
            name_of_group = first.group;
            request = first;
            request.id = id;
            request.group = name_of_group;
            slot = slot_of_id;
            is_queued = is_renewal = is_under_way = was_late = settle_again = false;
        }

        std::string id;
        std::string name_of_group;  ///< the group of the id
        AcquireRequest request;
        redis::Slot slot = 0;  ///< of the id's quotas
        WaitList<AcquireWaiter> waiting;
        bool is_queued = false;     ///< in `queued_`
        bool is_renewal = false;    ///< in `renewals_`, and neither queued nor under way
        bool is_under_way = false;  ///< in a call
        bool was_late = false;      ///< Redis refused the last call: its deadline had passed
        bool settle_again = false;  ///< queue it once more when its call has ended
    };
    /// What the requests of a batch have in common.
    struct Key {
        IdHash id;
        const Quotas* quotas;
        Cost cost;
        bool refusals_strike;
        bool can_be_banned;
        bool operator==(const Key&) const = default;
    };
    struct KeyHash {
        std::size_t operator()(const Key& key) const {
            return place_hash(std::span(key.id).first<sizeof(std::uint64_t)>(), 0) ^
                   std::hash<const Quotas*>()(key.quotas);
        }
    };
    using Batches = std::unordered_map<Key, Batch, KeyHash>;
    friend class AcquireCall;

    static Key key_of(const AcquireRequest& request);
    Batch& batch_of(const AcquireRequest& request);
    void end(Batch& batch) noexcept;
    void enqueue(Batch& batch);
    void enqueue_or_fail(Batch& batch) noexcept;
    void drop_renewal(Batch& batch) noexcept;
    void queue_renewals() noexcept;
    std::span<Batch* const> first_of_one_call(std::span<Batch* const> batches) const noexcept;
    void send(std::span<Batch* const> batches) noexcept;
    void finish(Batch& batch) noexcept;
    void fail(Batch& batch) noexcept;

    EngineContext& context_;
    NodeCall calls_{context_, LogLevel::kError, {}};
    UnitKeeper& keeper_;
    Settler* settler_ = nullptr;
    std::string node_;  ///< Zone::node_name
    Batches batches_;
    std::vector<Batches::node_type> spare_;  ///< of ended batches
    std::vector<Batch*> queued_;             ///< to be sent at the end of this turn
    std::vector<Batch*> sent_;               ///< empty; its memory is used again
    redis::KnownTerms terms_;                ///< of earlier calls
    redis::AcquireResults results_;          ///< of an earlier call; their memory is used again
    std::size_t most_batches_ = kMostBatches;
    std::unique_ptr<Timer> end_of_turn_;
    std::vector<Batch*> renewals_;         ///< to be sent with the next call, or when the tick ends
    std::unique_ptr<Timer> renewal_tick_;  ///< runs if `renewals_` has any
};

}  // namespace tollgate::engine
