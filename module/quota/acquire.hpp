#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "module/quota/plan.hpp"
#include "module/quota/table_quota.hpp"
#include "module/quota/window.hpp"

namespace tollgate {

/// What is added to a window's count before anything is decided, if Redis still counts that window:
/// what was granted while Redis was out of reach, or, below 0, what is left of a lease and given
/// back.
struct Adjustment {
    std::int64_t number = 0;  ///< of the window
    std::int64_t units = 0;
    std::int64_t previous = 0;  ///< for the window before, where windows slide
    bool operator==(const Adjustment&) const = default;
};

/// What is asked of Redis for one id: to decide `count` requests, alike and one after the other,
/// over all windows of all tables at once.
struct Acquire {
    std::string_view id;                   ///< a text that outlives this
    std::shared_ptr<const Quotas> quotas;  ///< at least one
    std::int64_t cost = 1;                 ///< of each request; 0 shows the quota and takes nothing
    std::int64_t count = 1;                ///< 0 only adjusts and counts strikes
    std::int64_t lease = 0;  ///< units to take beyond that, if all are granted: at most an eighth
                             ///< of what is left then in any window
    std::optional<BanPolicy> ban{};         ///< where set, a ban of the key counts
    bool refusals_strike = true;            ///< whether a refusal is a strike towards a ban
    std::int64_t strikes = 0;               ///< refusals that were made without asking
    std::vector<Adjustment> adjustments{};  ///< one a window, in the order of `quotas`; or none
    /// One a table: the number of the node's report that its adjustments are, which Redis applies
    /// once; 0 where they are to be applied in any case. As many as tables where there are
    /// adjustments.
    std::vector<std::uint64_t> report_numbers{};
};

/// What Redis decided. Of the requests the first `granted` are granted, `limited` more are refused
/// for an exhausted window, and the rest for a ban.
struct Acquired {
    Instant now;  ///< Redis's clock
    std::int64_t granted = 0;
    std::int64_t limited = 0;
    std::int64_t lease = 0;
    Instant banned_until{};              ///< 0 where no ban counts
    std::int64_t strikes = 0;            ///< so far, within the time that they count
    std::vector<WindowCount> windows{};  ///< afterwards, the lease counted; as `adjustments`
};

}  // namespace tollgate
