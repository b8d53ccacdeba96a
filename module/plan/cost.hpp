#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace tollgate {

/// What a request takes of one quota.
struct QuotaCost {
    std::int64_t units = 1;  ///< 0 takes nothing: see room()
    bool settles = false;    ///< what the request has used is known when it ends
    std::int64_t least = 0;  ///< it takes what is left, but not less than this; 0: not less

    /// The units that each window must have left: the cost. A request that costs 0 until it is
    /// settled needs one, because its charge follows. Without settling, a request of cost 0 only
    /// reads the quota and needs none.
    std::int64_t room() const { return units == 0 && settles ? 1 : units; }
    /// Whether the request may take less.
    bool can_be_cut() const { return least > 0 && least < units; }
    bool operator==(const QuotaCost&) const = default;
};

/// What a request takes of each of its quotas, in their order. A copy allocates nothing.
///
/// A node leases steps, and Redis grants the same number of them from each quota. If all quotas
/// cost the same, a step is a unit of each. Otherwise it is what one request takes of each.
class Cost {
  public:
    /// The same cost of each quota: a number is a cost.
    Cost(std::int64_t units = 1, bool settles = false) : all_{.units = units, .settles = settles} {}
    /// This cost of each quota.
    explicit Cost(const QuotaCost& all) : all_(all) {}
    /// The costs of all quotas, at least one. Throws std::bad_alloc.
    explicit Cost(std::span<const QuotaCost> each) : all_(each.front()) {
        if (std::ranges::any_of(each, [&](const QuotaCost& other) { return other != all_; })) {
            each_ = std::make_shared<const std::vector<QuotaCost>>(each.begin(), each.end());
        }
    }

    /// Whether all quotas cost the same.
    bool is_uniform() const { return each_ == nullptr; }
    const QuotaCost& of(std::size_t quota) const { return each_ ? (*each_)[quota] : all_; }
    /// The steps that a request takes.
    std::int64_t steps() const { return each_ ? 1 : all_.units; }
    /// The units of a quota that a step takes.
    std::int64_t units_of_step(std::size_t quota) const { return each_ ? of(quota).units : 1; }
    /// The sum of the units that a step takes of the first `quotas` quotas.
    std::int64_t units_of_step_in_all(std::size_t quotas) const {
        std::int64_t sum = 0;
        for (std::size_t quota = 0; quota < quotas; ++quota) {
            sum += units_of_step(quota);
        }
        return sum;
    }

    /// The number of quotas whose costs are listed: 1 if all cost the same.
    std::size_t size() const { return each_ ? each_->size() : 1; }

    /// Whether no quota must have room: the request only reads them.
    bool needs_nothing() const {
        return all([](const QuotaCost& cost) { return cost.room() == 0; });
    }
    /// Whether a request may take less of a quota.
    bool can_be_cut() const {
        return !all([](const QuotaCost& cost) { return !cost.can_be_cut(); });
    }
    /// Whether a quota is settled when the request ends.
    bool settles() const {
        return !all([](const QuotaCost& cost) { return !cost.settles; });
    }
    /// Whether a lease may grant such requests. What they charge in the end to a quota of which
    /// they take nothing before would be unknown to other nodes for a while.
    bool can_be_leased() const {
        return steps() > 0 && !needs_nothing() &&
               all([](const QuotaCost& cost) { return cost.units > 0 || !cost.settles; });
    }

    bool operator==(const Cost& other) const {
        return all_ == other.all_ &&
               (each_ == other.each_ || (each_ && other.each_ && *each_ == *other.each_));
    }

  private:
    template <typename Predicate>
    bool all(Predicate predicate) const {
        return each_ ? std::ranges::all_of(*each_, predicate) : predicate(all_);
    }

    QuotaCost all_;  ///< of each quota; with `each_`, of the first
    std::shared_ptr<const std::vector<QuotaCost>> each_;  ///< nullptr: all cost the same
};

}  // namespace tollgate
