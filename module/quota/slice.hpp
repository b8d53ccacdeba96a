#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "module/quota/local_decision.hpp"

namespace tollgate {

/// A worker's part of the leases of an id: units that it grants without the states that the workers
/// of a node share. Redis has counted the units, and the leases no longer contain them. If they are
/// lost, they are counted but not granted.
class Slice {
  public:
    /// A slice is used for this time at most, then its units are returned. A change of the key, of
    /// its limits, or a ban takes effect within this time.
    static constexpr SteadyTime kLongest{100};
    /// It ends so long before its windows: meanwhile the bounds of Redis's clock drift apart, by
    /// 1/1000 of the time, and they are rounded to ms (see RedisClock).
    static constexpr SteadyTime kDrift{2};

    /// Who else uses the leases.
    struct Sharing {
        std::size_t workers;  ///< that share the node's requests, this one included
        bool is_shared;       ///< whether other slices of the leases are likely
    };

    /// Whether there are units to return, or spent units that the states do not know.
    bool is_taken() const { return is_taken_; }
    /// The units of a table that are left, where `table` is its position.
    std::int64_t units(std::size_t table) const { return steps_ * cost_.units_of_step(table); }
    /// No unit is granted from this time on.
    SteadyTime ends() const { return ends_; }

    /// Whether the steps of the slice are those of this cost: units, or requests of the same costs.
    bool serves(const Cost& cost) const {
        return cost.is_uniform() ? cost_.is_uniform() : cost == cost_;
    }
    /// Grants a request that takes so many steps of a cost that the slice serves. False if there
    /// are too few, or if the slice has ended.
    bool spend(std::int64_t steps, ExactSteadyTime now) {
        if (steps_ < steps || now >= ends_) {
            return false;
        }
        set_steps(steps_ - steps);
        spent_ += steps;
        return true;
    }
    /// Whether a request would be granted that costs nothing until it is settled: a unit is left.
    bool has_unit(ExactSteadyTime now) const { return steps_ > 0 && now < ends_; }

    /// The windows to show after the last request that spend() granted. Throws std::bad_alloc.
    WindowStates windows() const;
    /// The windows that count the units, of all tables.
    const WindowCounts& counting() const { return counted_; }
    /// Redis's clock, as far as it was known when the slice was taken.
    ExactInstant redis_time(ExactSteadyTime now) const { return earliest_.at(now); }

    /// Prepares for a slice for requests of this cost. There must be no slice. False if tables cost
    /// differently, and the request before had other costs: the next one may as well.
    bool prepare(const Cost& cost) {
        const bool is_expected = cost.is_uniform() || cost == cost_;
        cost_ = cost.is_uniform() ? Cost(1) : cost;
        return is_expected;
    }

    /// Whether take() may take a slice if no other worker uses the leases. Most ordinary keys have
    /// too few requests.
    bool is_worthwhile(std::span<const QuotaState> states, const Quotas& quotas,
                       SteadyTime now) const;

    /// Takes from every lease the steps that this worker is expected to need for kLongest, or until
    /// half of the horizon or a window ends, if these are at least a few. `shown` is what a request
    /// shows that was granted just now from these states. There must be no slice, and prepare() has
    /// returned true. Throws std::bad_alloc; then nothing is taken.
    void take(std::span<QuotaState> states, const Quotas& quotas,
              std::span<const WindowState> shown, const ClockBounds& now, const Sharing& sharing);

    /// Writes the units of each table to these numbers when they change, until they are 0. They are
    /// in memory that outlives the worker.
    void copy_units_to(std::span<std::int64_t* const> copies) {
        copies_.assign(copies.begin(), copies.end());
    }

    /// Returns the rest to the leases, and counts what was spent. No effect without a slice.
    void end(std::span<QuotaState> states, const Quotas& quotas, const Demand& demand,
             SteadyTime now);

  private:
    std::int64_t wanted(std::span<const QuotaState> states, const Quotas& quotas, SteadyTime now,
                        SteadyTime ends, std::size_t workers) const;

    void set_steps(std::int64_t steps) {
        steps_ = steps;
        for (std::size_t table = 0; table < copies_.size(); ++table) {
            // What has no units may be another slice's memory.
            if (cost_.units_of_step(table) > 0) {
                std::atomic_ref(*copies_[table]).store(units(table), std::memory_order_relaxed);
            }
        }
        if (steps == 0) {
            copies_.clear();
        }
    }
    void restore_if_evicted(QuotaState& state, const TableQuota& quota,
                            std::span<const WindowCount> counts) const;

    bool is_taken_ = false;
    Cost cost_{1};            ///< what a step takes of each table
    std::int64_t steps_ = 0;  ///< that are left
    std::vector<std::int64_t*> copies_;
    std::int64_t spent_ = 0;  ///< steps
    SteadyTime began_{};
    SteadyTime ends_{};
    EarliestTime earliest_;
    std::vector<WindowState> shown_;            ///< before the first unit was spent
    std::vector<std::int64_t> units_of_shown_;  ///< that a step takes of each; empty: one unit
    WindowCounts counted_;                      ///< the windows that count the units, of all tables
    Instant counted_at_{};                      ///< when Redis counted them
    /// QuotaState::returns_until of a table.
    struct Returns {
        Instant until{};
        bool soon = false;
    };
    std::vector<Returns> returns_;  ///< of all tables, before the slice was taken
    Instant returns_until_{};       ///< since then, unless a later time was known
};

}  // namespace tollgate
