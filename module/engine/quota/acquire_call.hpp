#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "module/engine/node_call.hpp"
#include "module/engine/quota/acquire_batcher.hpp"
#include "module/quota/owed_units.hpp"
#include "module/redis/protocol/acquire_codec.hpp"
#include "module/zone/zone.hpp"

namespace tollgate::engine {

/// One call of the acquire script: prepares it from the state of each batch's quotas, and applies
/// its reply to them and to the waiters.
class AcquireCall : public NodeCall::Reply {
  public:
    using Batch = AcquireBatcher::Batch;

    /// For this many batches, whose quotas are in this slot. Throws std::bad_alloc.
    AcquireCall(AcquireBatcher& batcher, redis::Slot slot, std::size_t batches);
    /// Waiters get no callback.
    ~AcquireCall() override = default;

    /// Takes the waiters of the batches, and the units to report. Throws std::bad_alloc; then call
    /// finish_idle() and fail_all().
    void prepare(std::span<Batch* const> batches);
    /// Finishes the batches with nothing to ask and nothing to report, which may destroy them.
    void finish_idle() noexcept;
    bool empty() const { return items_.empty(); }
    /// The call to send. Throws std::bad_alloc.
    redis::Call call();

    void on_failure() noexcept override { fail_all(AcquireFailure::kUnknown); }
    void on_unsent() noexcept override { fail_all(AcquireFailure::kNotApplied); }
    /// Nobody waits any more. The units are accounted for when it is known what Redis did.
    bool on_timeout() noexcept override;

    /// Redis gave no decision; `on_failure` applies to every waiter.
    void fail_all(AcquireFailure failure) noexcept;

  private:
    void on_result(redis::ReplyValues values) noexcept override;
    void on_refusal(std::string_view error) noexcept override;
    bool is_expected(std::string_view error) const noexcept override;

    /// What the call asks for one batch.
    struct Item {
        Item(Batch& asked, Acquire& sent)
            : batch(&asked), acquire(&sent), is_plain(asked.request.is_plain) {}

        /// In a call that has timed out, a copy of the batch, of which only `request` is used: the
        /// batch goes on.
        std::unique_ptr<Batch> copy;
        Batch* batch;
        Acquire* acquire;
        bool is_plain;  ///< see tollgate::is_plain: the states do not know of the call
        WaitList<AcquireWaiter> asking;
        WindowStates granted;     ///< windows after the last granted request
        WindowStates refused;     ///< windows that a refused request shows
        bool is_applied = false;  ///< the result is in the zone
    };

    bool add(Batch& batch);
    bool add_plain(Batch& batch);
    void apply(const redis::AcquireResults& results);
    void note_lease(const AcquireRequest& request, std::int64_t steps) noexcept;
    void apply_late(Item& item, const Acquired& acquired, SteadyTime now);
    void finish(Item& item) noexcept;
    void observe(const redis::AcquireResults& results);
    bool count_in_place(Item& item, const Acquired& acquired, SteadyTime now);
    void apply_to_zone(Item& item, const Acquired& acquired, SteadyTime now);
    void decide_waiters(Item& item, const Acquired& acquired, ExactInstant now) noexcept;
    void send_again(bool was_late) noexcept;
    SteadyTime executed_until() const;
    void restore(const Item& item, AcquireFailure failure) noexcept;
    void fail(Item& item, AcquireFailure failure) noexcept;

    AcquireBatcher& batcher_;
    EngineContext& context_;
    redis::Slot slot_;
    ExactSteadyTime sent_;
    Instant deadline_{};        ///< by Redis's clock; 0: its clock is not known
    std::uint64_t number_ = 0;  ///< Zone::number_call; 0: no lease is asked for
    bool has_timed_out_ = false;
    std::vector<Batch*> idle_;  ///< batches that need no call
    std::vector<Item> items_;
    std::vector<Acquire> acquires_;  ///< one for each item
};

}  // namespace tollgate::engine
