#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "module/plan/rate.hpp"
#include "module/text/name_hash.hpp"

namespace tollgate {

/// What a key of this plan may do.
struct Plan {
    enum class Kind {
        kLimited,    ///< `rates` apply
        kCustom,     ///< the limits are in the key's own record
        kUnlimited,  ///< no quota
    };
    std::string name;
    Kind kind = Kind::kLimited;
    std::vector<Rate> rates;     ///< ascending by period; empty unless kLimited
    bool sliding = false;        ///< windows slide (two-bucket estimate); if not, they align to UTC
    std::int64_t in_flight = 0;  ///< requests at a time; 0: any number, or kCustom
    /// `over=allow`: units beyond the rates are counted and granted. `in_flight` still refuses.
    bool allows_over = false;
};

/// When a key that keeps sending requests after 429s is banned, and for how long. Each ban is twice
/// as long as the one before, up to a maximum.
struct BanPolicy {
    std::int64_t after = 0;              ///< strikes, at least 1
    std::chrono::milliseconds within{};  ///< the time from the first strike in which all must occur
    std::chrono::milliseconds first{};   ///< length of the first ban
    std::chrono::milliseconds
        up_to{};  ///< longest ban; this long after a ban, the next one is a first ban
    /// Whether a refusal by any table is a strike. If not, only one by a table by=id: what others
    /// have spent, of the group or with the same value, bans nobody.
    bool all_strike = false;
};

/// `lease=`: the default, the minimum and the maximum.
constexpr std::chrono::milliseconds kLeaseTime{3000};
constexpr std::chrono::milliseconds kLeastLeaseTime{50};
constexpr std::chrono::milliseconds kMostLeaseTime{60'000};

/// The longest name of a unit.
constexpr std::size_t kMostUnitLength = 32;
/// Whether a text may be the name of a unit, which is a part of names of fields: lower-case
/// letters, digits and `-`, and a letter first.
bool is_valid_unit(std::string_view name);

/// `values=`: the default and the maximum.
constexpr std::int64_t kDefaultValues = 1000;
constexpr std::int64_t kMostValues = 1'000'000;

/// `history`: the minimum and the maximum.
constexpr std::chrono::days kLeastHistory{1};
constexpr std::chrono::days kMostHistory{3660};

/// `notify`: the most levels.
constexpr std::size_t kMostLevels = 8;

/// A plan table, as `tollgate_plans` defines it. The names of its counters contain its name.
struct PlanTable {
    std::string name;
    std::vector<Plan> plans;
    std::string default_plan;     ///< for keys whose plan is not in the table; may be empty
    std::vector<Rate> anonymous;  ///< an address's budget for failed authentications; may be empty
    std::vector<std::string> anonymous_policies{};  ///< the policy names of its windows
    std::optional<BanPolicy> ban;
    /// The longest time for which a node may lease units ahead; 0: no leases.
    std::chrono::milliseconds lease_time = kLeaseTime;
    /// How long Redis keeps what an id was granted in a day, after the day's end; 0: not at all.
    std::chrono::days history{};
    /// What its plans limit: see is_valid_unit.
    std::string unit{kRequests};
    std::vector<std::string_view> seen{};  ///< the directives of its block: see find_directive
    /// Whether all nodes of the Redis share the budgets of addresses.
    bool anonymous_is_shared = false;
    /// `by=$variable`, without the `$`: each value of the variable has a counter for each id.
    /// Empty: an id has one counter.
    std::string variable{};
    /// `values=`: an id has at most so many counters of values in a longest window. Further values
    /// share one. From 1 to kMostValues.
    std::int64_t most_values = kDefaultValues;
    /// `by=group`: a group has one counter for the keys of all its ids.
    bool by_group = false;
    /// The levels of a window's count that are noticed, in per cent of its limit, ascending.
    std::vector<std::int64_t> notify{};
    bool has_history() const { return history > std::chrono::days(0); }
    bool counts_values() const { return !variable.empty(); }

    /// The plan of this name, otherwise the default; nullptr if there is neither.
    const Plan* find(std::string_view plan) const;
};

/// A plan table and the Redis that counts it. The table must outlive the engine.
struct ServedTable {
    /// The table has its name.
    ServedTable(const PlanTable* served, std::uint32_t of)
        : table(served), redis(of), id(name_hash(served->name)) {}

    const PlanTable* table;
    std::uint32_t redis;  ///< identifies the data of the Redis
    std::uint32_t id;     ///< TableQuota::table_id
};

/// Reads the words after `plan`: a name, then rates (see parse_rates), `custom` or `unlimited`,
/// then optionally `in_flight=N`, then optionally `window=fixed|sliding`, then optionally
/// `over=allow`. Throws ParseError, also for `window=sliding` if all rates are buckets.
Plan parse_plan(std::span<const std::string_view> words);

/// Reads the value of `lease=`: `off`, which is 0, or a time from kLeastLeaseTime to
/// kMostLeaseTime. Throws ParseError.
std::chrono::milliseconds parse_lease_time(std::string_view text);

/// Reads the value of `history`: a time from kLeastHistory to kMostHistory, rounded up to days.
/// Throws ParseError.
std::chrono::days parse_history(std::string_view text);

/// Reads the words after `notify`: up to kMostLevels different levels, from `1%` to `100%`. Returns
/// them in ascending order. Throws ParseError.
std::vector<std::int64_t> parse_notify(std::span<const std::string_view> words);

/// Reads the words after `ban`: `after=`, `within=`, `for=` and optionally `up_to=` (default: 24
/// hours, or the first ban if that is longer) and `strikes=id|all` (default: `id`). Throws
/// ParseError.
BanPolicy parse_ban(std::span<const std::string_view> words);

}  // namespace tollgate
