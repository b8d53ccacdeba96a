#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "module/key/invalid_key.hpp"
#include "module/key/key_record.hpp"
#include "module/plan/cost.hpp"
#include "module/plan/table_quota.hpp"
#include "module/plan/window.hpp"
#include "module/report/error_body.hpp"
#include "module/report/verdict.hpp"

namespace tollgate::engine {

/// The decision about a request. Headers, variables, statistics and endpoints read it; none of them
/// computes it again.
struct Outcome {
    Verdict verdict = Verdict::kNone;  ///< kNone: not decided yet
    int status = 0;                    ///< the status to refuse with; 0: the request may pass
    Error error{};                     ///< of the status
    bool key_was_sent = false;         ///< whether the request had a key, valid or not
    std::shared_ptr<const KeyRecord> record{};  ///< of the key, if it is authenticated
    /// The key's quotas that `windows` belong to, in their order; nullptr for an address's budget.
    std::shared_ptr<const Quotas> quotas;
    /// The windows to show: of the key's quota, or of the address's budget if the key is not
    /// authenticated. Empty if there are none.
    WindowStates windows;
    ExactInstant now{};            ///< the clock by which the windows are counted
    std::int64_t retry_after = 0;  ///< seconds; 0: none
    /// What the request takes of its quotas if it is granted; empty if they were not chosen. When
    /// it is settled, what it has used.
    std::optional<Cost> cost;
    WindowCounts counting{};  ///< see Decision; empty when the cost is settled
    InvalidKey invalid{};     ///< the key, if it was sent and is not valid
    Limiter in_flight{};      ///< the limit of requests in flight that has refused the request

    /// The record of the key; an empty one if it is not authenticated.
    const KeyRecord& key() const {
        static const KeyRecord kNone;
        return record ? *record : kNone;
    }
    bool is_decided() const { return verdict != Verdict::kNone; }
    /// Whether the request passes because of a valid key.
    bool is_granted() const {
        return verdict == Verdict::kGranted || verdict == Verdict::kDegraded;
    }
    /// The window that has refused the request, else the one of the first table's unit to show: see
    /// binding_window; nullptr for none.
    const WindowState* binding() const {
        const WindowState* of_all = binding_window(windows);
        return of_all == nullptr || of_all->exhausted ? of_all
                                                      : binding_window(windows, windows.front());
    }
    /// The limit that has refused the request; none if no limit has, and for a ban. If several
    /// windows have, the one that resets last.
    Limiter limiter() const {
        if (verdict != Verdict::kLimited || !in_flight.table.empty()) {
            return in_flight;
        }
        const WindowState* window = binding();
        return window == nullptr ? Limiter{} : Limiter{window->table, window->policy};
    }
};

}  // namespace tollgate::engine
