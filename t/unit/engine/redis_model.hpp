#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <limits>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "module/quota/acquire.hpp"

namespace tollgate {

/// The acquire script in C++, for tests without a Redis: the same counts, bans and results.
class RedisModel {
  public:
    /// `report_keys` has a key for each table; without them, a table of an id has one of each node.
    Acquired run(const Acquire& acquire, Instant now,
                 std::span<const std::string> report_keys = {}) {
        Acquired acquired{.now = now};
        Ban* const ban = acquire.demand.ban ? &current_ban(acquire, now) : nullptr;
        const bool was_banned = ban != nullptr && ban->until > now;
        const Cost& cost = acquire.demand.cost;
        std::int64_t room = std::numeric_limits<std::int64_t>::max();  ///< in steps: see Cost
        taken_back.clear();
        auto adjustment = acquire.adjustments.begin();
        for (std::size_t table = 0; table < acquire.quotas->size(); ++table) {
            const TableQuota& quota = (*acquire.quotas)[table];
            const bool applies = is_new(acquire, table, report_keys);
            Lease* const lost = lost_lease(acquire, table);
            acquired.taken_back.push_back(lost == nullptr ? 0 : lost->call);
            for (std::size_t i = 0; i < quota.rates.size(); ++i) {
                const Rate& rate = quota.rates[i];
                WindowCount& window = count(acquire.id, quota, rate);
                const WindowCount before = window;
                window = roll(window, rate.period, now);
                if (keeps_history(quota, i) && window.number != before.number) {
                    granted_in(acquire.id, quota, before.number) += before.count;
                }
                if (adjustment != acquire.adjustments.end()) {
                    const Adjustment applied = applies ? *adjustment : Adjustment{};
                    adjust(window, applied, quota.sliding);
                    if (keeps_history(quota, i)) {
                        adjust_history(acquire.id, quota, window, applied);
                    }
                    ++adjustment;
                }
                Adjustment& back = taken_back.emplace_back();
                if (lost != nullptr) {
                    back = {window_number(lost->at, rate.period), -lost->units, 0};
                    adjust(window, back, quota.sliding);
                    if (keeps_history(quota, i)) {
                        adjust_history(acquire.id, quota, window, back);
                    } else if (back.number != window.number &&
                               (!quota.sliding || back.number != window.number - 1)) {
                        back = {};
                    }
                }
                room = std::min(
                    room, steps_in(rate.requests - spent(window, rate.period, quota.sliding, now),
                                   cost, table));
            }
            if (lost != nullptr) {
                lost->call = 0;
            }
        }
        room = std::max<std::int64_t>(room, 0);
        const std::int64_t needed = cost.is_uniform() ? cost.of(0).room() : 1;
        const auto fitting = cost.steps() == 0 ? (room < needed ? 0 : acquire.count)
                                               : std::min(acquire.count, room / cost.steps());
        acquired.granted = was_banned ? 0 : fitting;
        acquired.limited = acquire.count - acquired.granted;
        room -= acquired.granted * cost.steps();
        if (acquired.limited == 0 && !was_banned) {
            acquired.lease = std::min(acquire.lease, room / 8);
        }
        for (std::size_t table = 0; table < acquire.quotas->size(); ++table) {
            const TableQuota& quota = (*acquire.quotas)[table];
            const std::int64_t units = acquired.units(cost, table);
            for (const Rate& rate : quota.rates) {
                WindowCount& window = count(acquire.id, quota, rate);
                window.count += units;
                acquired.windows.push_back(window);
            }
            const std::span<const WindowCount> counted(acquired.windows);
            const bool are_current = std::ranges::equal(
                quota.rates, counted.last(quota.rates.size()), {},
                [&](const Rate& rate) { return window_number(now, rate.period); },
                &WindowCount::number);
            Lease& lease = leases_[name_of(acquire.id, quota)];
            if (acquired.lease > 0 && units > 0) {
                lease = {node,
                         now,
                         lease.node == node ? lease.of_other : lease.at,
                         lease.recalled,
                         are_current ? call : 0,
                         units};
            }
            if (room < needed && !was_banned) {
                acquired.leased_elsewhere.push_back(
                    lease_elsewhere(lease, acquire, table, acquired.windows, now));
            }
        }
        if (ban != nullptr) {
            acquired.limited = was_banned ? 0 : strike(*ban, acquire, acquired.limited, now);
            acquired.banned_until = ban->until > now ? ban->until : Instant();
            acquired.strikes = ban->strikes;
        }
        return acquired;
    }

    WindowCount& count(std::string_view id, const TableQuota& quota, const Rate& rate) {
        return counts_[{name_of(id, quota), rate.period.code()}];
    }

    /// What the history of an id has: by day, also the last one. Units that are in leases are
    /// among them.
    std::map<std::int64_t, std::int64_t> history(std::string_view id, const TableQuota& quota) {
        std::map<std::int64_t, std::int64_t> days;
        for (const auto& [day, units] : history_) {
            if (day.first == std::string(id) + ":" + quota.table) {
                days[day.second] += units;
            }
        }
        const WindowCount& last = count(id, quota, {kNoLimit, std::chrono::hours(24)});
        days[last.number] += last.count;
        std::erase_if(days, [](const auto& one) { return one.second == 0; });
        return days;
    }

    /// Moves what `other` has of an id to this one.
    void take(RedisModel& other, const std::string& id) {
        const auto is_of_id = [&](const auto& key) { return key.first.starts_with(id + ":"); };
        move_entries(other.counts_, counts_, is_of_id);
        move_entries(other.history_, history_, is_of_id);
        move_entries(other.reports_, reports_, is_of_id);
        move_entries(other.leases_, leases_,
                     [&](const std::string& key) { return key.starts_with(id + ":"); });
        move_entries(other.bans_, bans_, [&](const std::string& key) { return key == id; });
    }

    void lift_ban(const std::string& id) { bans_.erase(id); }

    /// Names the node that sends the next acquires.
    std::string node;
    /// The number of the call that has the next acquires.
    std::uint64_t call = 0;
    /// For each window of the last acquire: what was taken back of a lost call, below 0.
    std::vector<Adjustment> taken_back;
    /// The ids whose leases were recalled; nobody was told yet.
    std::vector<std::string> recalled;

  private:
    template <typename Entries, typename IsMoved>
    static void move_entries(Entries& from, Entries& to, IsMoved is_moved) {
        for (auto entry = from.begin(); entry != from.end();) {
            const auto next = std::next(entry);
            if (is_moved(entry->first)) {
                to.erase(entry->first);
                to.insert(from.extract(entry));
            }
            entry = next;
        }
    }

    /// See lease_field.
    struct Lease {
        std::string node;
        Instant at{};
        Instant of_other{};
        Instant recalled{};
        std::uint64_t call = 0;  ///< 0: its units were taken back
        std::int64_t units = 0;  ///< that the call has added
    };
    struct Ban {
        std::int64_t strikes = 0;
        Instant since{};
        int level = 0;
        Instant until{};
    };

    /// The last lease of a table, if the acquire names its call as lost.
    Lease* lost_lease(const Acquire& acquire, std::size_t table) {
        if (acquire.lost_calls.empty()) {
            return nullptr;
        }
        Lease& last = leases_[name_of(acquire.id, (*acquire.quotas)[table])];
        return last.node == node && acquire.lost_calls[table].contains(last.call) ? &last : nullptr;
    }

    /// The steps (see Cost) for which a window has room that has so many units left.
    static std::int64_t steps_in(std::int64_t left, const Cost& cost, std::size_t table) {
        if (cost.is_uniform()) {
            return left;
        }
        const QuotaCost& of_table = cost.of(table);
        if (of_table.units > 0) {
            return std::max<std::int64_t>(left, 0) / of_table.units;
        }
        return left < of_table.room() ? 0 : std::numeric_limits<std::int64_t>::max();
    }

    LeaseElsewhere lease_elsewhere(Lease& lease, const Acquire& acquire, std::size_t table,
                                   std::span<const WindowCount> windows, Instant now) {
        const TableQuota& quota = (*acquire.quotas)[table];
        const std::int64_t room = acquire.demand.cost.of(table).room();
        const Instant at = lease.node == node ? lease.of_other : lease.at;
        if (room == 0 || at == Instant{} || at > now) {
            return {};
        }
        if (lease.recalled < at || lease.recalled > now) {
            if (!would_help(at, room, quota, windows.last(quota.rates.size()), now)) {
                return {at, {}};
            }
            lease.recalled = now;
            recalled.push_back(std::string(acquire.id).append(quota.value.suffix()));
        }
        return {at, lease.recalled};
    }
    /// Whether the units of a lease would help each full window, none resets within a second, and
    /// the cost is within the limits.
    static bool would_help(Instant leased, std::int64_t cost, const TableQuota& quota,
                           std::span<const WindowCount> windows, Instant now) {
        bool helps = false;
        for (std::size_t i = 0; i < windows.size(); ++i) {
            const Rate& rate = quota.rates[i];
            if (rate.requests - spent(windows[i], rate.period, quota.sliding, now) >= cost) {
                continue;
            }
            const Instant begins =
                window_start(windows[i].number - (quota.sliding ? 1 : 0), rate.period);
            const Instant ends = window_end(windows[i].number, rate.period);
            if (cost > rate.requests || leased < begins ||
                (!quota.sliding && ends <= now + std::chrono::seconds(1))) {
                return false;
            }
            helps = true;
        }
        return helps;
    }

    Ban& current_ban(const Acquire& acquire, Instant now) {
        Ban& ban = bans_[std::string(acquire.id)];
        if (now - ban.since >= acquire.demand.ban->within) {
            ban.strikes = 0;
        }
        return ban;
    }

    /// Counts the strikes of an acquire. Returns the number of refusals that are only limited.
    static std::int64_t strike(Ban& ban, const Acquire& acquire, std::int64_t refused,
                               Instant now) {
        const std::int64_t strikes = acquire.demand.refusals_strike ? refused : 0;
        if (acquire.strikes + strikes == 0) {
            return refused;
        }
        if (ban.strikes == 0) {
            ban.since = acquire.strikes > 0 ? now + acquire.struck_since : now;
        }
        const std::int64_t missing = acquire.demand.ban->after - ban.strikes - acquire.strikes;
        ban.strikes += acquire.strikes + strikes;
        if (strikes < missing) {
            return refused;
        }
        ban.until =
            now + std::min(acquire.demand.ban->first * (1 << ban.level), acquire.demand.ban->up_to);
        ++ban.level;
        ban.strikes = 0;
        return std::max<std::int64_t>(missing - 1, 0);
    }

    /// Whether a report has not been applied yet. Adjustments without a number are always new.
    bool is_new(const Acquire& acquire, std::size_t table,
                std::span<const std::string> report_keys) {
        const auto number = acquire.adjustments.empty() ? 0 : acquire.report_numbers[table];
        const std::string key = report_keys.empty() ? std::to_string(table) : report_keys[table];
        auto& last = reports_[{std::string(acquire.id) + ":" + key, node}];
        return number == 0 || std::exchange(last, std::max(last, number)) < number;
    }

    std::int64_t& granted_in(std::string_view id, const TableQuota& quota, std::int64_t day) {
        return history_[{std::string(id) + ":" + quota.table, day}];
    }
    /// Days that have ended are adjusted in the history.
    void adjust_history(std::string_view id, const TableQuota& quota, const WindowCount& window,
                        const Adjustment& adjustment) {
        if (adjustment.number != window.number) {
            granted_in(id, quota, adjustment.number) += adjustment.units;
        }
        granted_in(id, quota, adjustment.number - 1) += adjustment.previous;
    }

    static void adjust(WindowCount& window, const Adjustment& adjustment, bool sliding) {
        if (adjustment.number == window.number) {
            window.count = std::max<std::int64_t>(window.count + adjustment.units, 0);
            window.previous = std::max<std::int64_t>(window.previous + adjustment.previous, 0);
        } else if (sliding && adjustment.number == window.number - 1) {
            window.previous = std::max<std::int64_t>(window.previous + adjustment.units, 0);
        }
    }

    static std::string name_of(std::string_view id, const TableQuota& quota) {
        return std::string(id).append(":").append(quota.table).append(quota.value.suffix());
    }

    std::map<std::pair<std::string, std::int64_t>, WindowCount> counts_;
    std::map<std::pair<std::string, std::int64_t>, std::int64_t> history_;  ///< by id:table and day
    std::map<std::pair<std::string, std::string>, std::uint64_t> reports_;
    std::map<std::string, Lease> leases_;  ///< by id and table
    std::map<std::string, Ban> bans_;
};

}  // namespace tollgate
