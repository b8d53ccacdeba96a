#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "module/engine/engine_context.hpp"
#include "module/engine/quota/acquire_batcher.hpp"
#include "module/engine/quota/slices.hpp"
#include "module/engine/quota/unstored_units.hpp"
#include "module/plan/table_quota.hpp"
#include "module/redis/protocol/recall.hpp"
#include "module/zone/key_cache.hpp"
#include "module/zone/quota_cache.hpp"
#include "module/zone/zone.hpp"

namespace tollgate::engine {

/// Reports owed units to Redis and returns idle leases when no request does it. Both lie in the
/// zone, so any worker settles them, whichever granted them. One worker of the node looks for them
/// every 250 ms.
class Settlement final : private Pinned, private AcquireBatcher::Settler, private Slices::Settler {
  public:
    /// The arguments must outlive it. It becomes the settler of the batcher and of the slices.
    Settlement(EngineContext& context, UnstoredUnits& unstored, AcquireBatcher& acquires,
               Slices& slices);

    /// Settles at once what the request's id holds if this worker is shutting down and no other
    /// serves its tables; if Redis is unreachable, later. Throws std::bad_alloc.
    void settle_if_left(const AcquireRequest& request) override;

    /// Another node refuses requests of an id, or of a value of it, while units lie in leases.
    /// Returns those of this node soon. The other workers find the recall in the zone.
    void recall(const redis::Recall& recall) noexcept;

    /// A recall was noted in the zone at this time: begins a pass soon, unless another worker does.
    void begin_pass(SteadyTime recalled) noexcept override;

    /// A graceful shutdown of this worker has begun. Settles, leases included, every held quota of
    /// the plan tables that no other worker serves: those that a reload has removed, or all if this
    /// is the last worker. Throws std::bad_alloc.
    void shut_down();

    /// Whether this worker is shutting down and no other serves one of these tables. Leases are
    /// then returned at once. The last other worker may end at any time. Locks the node.
    bool returns_leases(const Quotas& quotas) const override;

  private:
    enum class Which {
        kDue,
        kLeft,  ///< the quotas of tables that no other worker serves
    };
    struct Due {
        const QuotaCache::Held& held;
        IdHash id;         ///< of its owner
        bool is_recalled;  ///< see is_recalled
    };
    void on_idle() noexcept override { continue_last_passes(); }
    void continue_last_passes() noexcept;
    void run() noexcept;
    void on_timer();
    bool claim_turn();
    SteadyTime next_turn() const;
    bool visit_stripe(std::vector<QuotaCache::Held>& found, std::size_t& visited, Which which,
                      SteadyTime now);
    QuotaCache::Look look(const QuotaCache::HeldSummary& held, Which which, SteadyTime now) const;
    SteadyTime last_recall(const QuotaCache::HeldSummary& held) const;
    std::optional<Due> due(const QuotaCache::Held& held, const PlanTable& table, Which which,
                           ExactSteadyTime now) const;
    void begin_last_passes() noexcept;
    bool settle(Which which);
    void settle(const Due& due, Which which);
    bool is_ours(std::uint32_t redis) const;
    bool is_left(std::uint32_t table) const;
    void drop_if_left(const QuotaCache::Held& held);
    void drop(const QuotaCache::Held& held);
    bool may_be_used(const QuotaCache::Held& held) const;
    std::shared_ptr<const Quotas> quotas_of(const Due& due);

    EngineContext& context_;
    UnstoredUnits& unstored_;
    AcquireBatcher& acquires_;
    Slices& slices_;
    std::size_t stripe_ = 0;  ///< whose quotas the pass visits next
    QuotaCache::Cursor cursor_;
    bool is_full_ = false;  ///< the pass looks at all held quotas: see HeldSets
    std::vector<std::shared_ptr<const Quotas>> quotas_;  ///< from quotas_of; one table each
    SteadyTime pass_due_{};  ///< after a recall, when a pass is due; 0: none is
    SteadyTime recalled_{};  ///< the last recall
    bool is_shutting_down_ = false;
    std::vector<std::uint32_t> left_;  ///< tables that no other worker served when a shutdown began
    bool is_last_ = false;             ///< in a shutdown: what is left may not be settled yet
    bool is_late_ = false;  ///< a request ended after the last pass, while Redis was unreachable
    bool is_continuing_ = false;  ///< continue_last_passes is running: calls may end within it
    std::uint64_t counted_before_ = 0;  ///< units that Redis had counted when this pass began
    SteadyTime ends_at_{};
    std::unique_ptr<Timer> timer_;
};

}  // namespace tollgate::engine
