#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "module/quota/acquire_reply.hpp"
#include "module/quota/lease.hpp"
#include "module/quota/local_decision.hpp"
#include "module/quota/owed_units.hpp"
#include "module/quota/shown_windows.hpp"

namespace tollgate {

/// The start of a minute, by Redis's clock.
constexpr Instant kStart{std::chrono::milliseconds(1'795'000'020'000)};
constexpr std::int64_t kFirst10s = window_number(kStart, std::chrono::seconds(10));
constexpr std::int64_t kFirst60s = window_number(kStart, std::chrono::seconds(60));

constexpr BanPolicy kBan{5, std::chrono::minutes(1), std::chrono::minutes(10),
                         std::chrono::hours(24)};

inline TableQuota table_quota(std::string table, std::vector<Rate> rates, bool sliding) {
    TableQuota quota{.table = std::move(table), .rates = std::move(rates), .sliding = sliding};
    for (const Rate& rate : quota.rates) {
        quota.policies.push_back(policy_name(quota.table, rate.period));
    }
    return quota;
}
inline TableQuota api(std::vector<Rate> rates, bool sliding = false) {
    return table_quota("api", std::move(rates), sliding);
}
inline TableQuota search(std::vector<Rate> rates, bool sliding = false) {
    return table_quota("search", std::move(rates), sliding);
}

inline Acquired banned(Instant until) {
    Acquired answer{};
    answer.banned_until = until;
    return answer;
}

/// The state of one id on one node, for tests that supply Redis's replies.
struct Node {
    /// Redis's count of a window. The window's number is that of `now` plus `ahead`.
    struct Count {
        std::int64_t count = 0;
        std::int64_t previous = 0;
        std::int64_t ahead = 0;
    };

    explicit Node(Quotas all) : quotas(std::move(all)), states(quotas.size()) {}
    explicit Node(std::vector<Rate> rates, bool sliding = false)
        : Node(Quotas{api(std::move(rates), sliding)}) {}

    /// The time, with Redis's clock known to `uncertainty` either way.
    ClockBounds moment() const {
        return {kSteady + (now - kStart), now - uncertainty, now + uncertainty, now - uncertainty};
    }

    void arrive() { note_arrivals(states, quotas, demand, 1, moment().steady); }
    LocalAnswer decide() {
        const auto answer = tollgate::decide(states, quotas, demand, moment());
        expect_current_windows(answer);
        return answer;
    }
    LocalAnswer decide_alone() {
        const auto answer = tollgate::decide_alone(states, quotas, demand, moment());
        expect_current_windows(answer);
        return answer;
    }
    /// The number of requests, of up to `most`, that the node grants alone before it refuses one.
    std::int64_t granted_alone(std::int64_t most) {
        std::int64_t granted = 0;
        while (granted < most && decide_alone() == LocalAnswer::kGranted) {
            ++granted;
        }
        return granted;
    }
    void share_among(std::int64_t nodes) {
        for (QuotaState& state : states) {
            state.nodes = nodes;
        }
    }
    /// Asks Redis about one request, which arrive() need not have counted.
    Acquire ask(std::int64_t count = 1) {
        const std::int64_t lease = lease_size(states, quotas, demand.cost, count, moment());
        return prepare(states, quotas, demand, count, lease, moment(), &last_report);
    }
    void restore(const Acquire& acquire, AcquireFailure failure = AcquireFailure::kUnknown) {
        tollgate::restore(states, quotas, acquire, failure);
    }
    bool needs_settling() const {
        for (std::size_t i = 0; i < states.size(); ++i) {
            if (settling_due(held_units(states[i]), lease_horizon(quotas[i])) <= moment().steady) {
                return true;
            }
        }
        return false;
    }
    bool is_held() const { return std::ranges::any_of(states, tollgate::is_held); }

    /// The unit counts of all tables.
    UnitCounts counts() const {
        UnitCounts sum;
        for (const auto& state : states) {
            sum.spent += state.counts.spent;
            sum.returned += state.counts.returned;
            sum.lost += state.counts.lost;
            sum.noted += state.counts.noted;
            sum.settled += state.counts.settled;
            sum.lapsed += state.counts.lapsed;
        }
        return sum;
    }

    /// Applies a reply of Redis to an acquire at `now`, or that long before.
    void apply_reply(std::vector<Count> counts, std::int64_t lease = 0, Acquired answer = {},
                     std::chrono::milliseconds before = {},
                     const Acquire& acquire = other_acquire()) {
        answer.now = now - before;
        answer.lease = lease;
        auto count = counts.begin();
        for (const TableQuota& quota : quotas) {
            for (const Rate& rate : quota.rates) {
                answer.windows.push_back({window_number(answer.now, rate.period) + count->ahead,
                                          count->count, count->previous});
                ++count;
            }
        }
        // Redis was asked before it replied.
        for (QuotaState& state : states) {
            state.asked = lease > 0 ? std::max(state.asked, moment().steady) : state.asked;
        }
        tollgate::apply_reply(states, quotas, acquire, answer, moment());
    }
    /// An acquire of another worker of the node, which looks for a ban.
    static Acquire other_acquire() {
        return {.id = {}, .quotas = nullptr, .demand = {.cost = 0, .ban = kBan}};
    }

    WindowStates windows(bool refused = false) const {
        return windows_of(states, quotas, moment(), demand.cost, refused);
    }
    std::int64_t remaining() const { return windows().front().remaining; }
    /// granted_windows() may rely on decide() and decide_alone().
    void expect_current_windows(LocalAnswer answer) const {
        if (answer != LocalAnswer::kGranted) {
            return;
        }
        const auto time = no_earlier_than_replies(moment(), states);
        const auto granted = granted_windows(states, quotas, time.earliest, demand.cost);
        const auto all = windows_of(states, quotas, time, demand.cost, false);
        EXPECT_TRUE(std::ranges::equal(granted, all, [](const auto& one, const auto& other) {
            return one.remaining == other.remaining && one.reset == other.reset;
        }));
    }

    static constexpr SteadyTime kSteady{5'000};
    Quotas quotas;
    std::vector<QuotaState> states;
    Demand demand;
    std::uint64_t last_report = 0;
    Instant now = kStart;
    std::chrono::milliseconds uncertainty{};
};

}  // namespace tollgate
