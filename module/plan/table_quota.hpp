#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "module/key/key_record.hpp"
#include "module/plan/cost.hpp"
#include "module/plan/plan.hpp"
#include "module/plan/value_digest.hpp"

namespace tollgate {

struct TableQuota;

/// The periods of a quota's windows and buckets, and whether windows slide. Quotas with the same
/// layout share their counts; the limits may differ (but see is_small).
struct WindowLayout {
    std::array<std::uint32_t, kMaxWindows> periods{};  ///< see code_of; 0: none
    bool sliding = false;

    /// Period::code, and another bit for a bucket.
    static std::uint32_t code_of(const Rate& rate);
    /// The period of such a number. A worker that is killed may leave an invalid one.
    static Period period_of(std::uint32_t code);
    static bool is_bucket(std::uint32_t code);

    WindowLayout() = default;
    explicit WindowLayout(const TableQuota& quota);
    bool operator==(const WindowLayout&) const = default;
};

/// How a node stores the state of a quota.
struct QuotaShape {
    WindowLayout layout;
    bool is_small;       ///< see tollgate::is_small
    std::uint64_t hash;  ///< of the layout

    explicit QuotaShape(const TableQuota& quota);
};

/// What one counter of a quota counts.
enum class CountedBy : std::uint8_t {
    kId,      ///< all requests of the id
    kValue,   ///< requests with the same value of PlanTable::variable
    kValues,  ///< requests with any value of PlanTable::variable
    kGroup,   ///< requests of all ids of the group
};

/// The quota of a key in one plan table.
struct TableQuota {
    std::string table;
    /// The rates of the buckets, and then those of the windows, at least one. Both are ascending by
    /// period. If the table keeps a history, the windows contain a day, without a limit unless the
    /// plan has one. If there is a bucket, the longest window is at least a day.
    std::vector<Rate> rates;
    /// With `over=allow`: for each of `rates` the limit that is shown. The window itself has none,
    /// so it refuses nothing and its leases are not cut. kNoLimit: that of a history. Empty: the
    /// limits are those of `rates`.
    std::vector<std::int64_t> soft_limits{};
    bool sliding = false;
    std::chrono::milliseconds lease_time = kLeaseTime;  ///< see PlanTable
    std::vector<std::string> policies{};  ///< the policy names of its windows: `free-minute`;
                                          ///< empty for one without a limit
    std::uint32_t table_id = 0;           ///< name_hash of `table`
    std::chrono::days history{};          ///< see PlanTable
    std::string unit{kRequests};          ///< see PlanTable
    std::int64_t in_flight = 0;           ///< requests at a time, of all nodes; 0: any number
    std::string in_flight_policy{};       ///< the policy name of that: `free-in-flight`
    std::optional<QuotaShape> shape{};    ///< if it is known: each request needs it
    CountedBy by = CountedBy::kId;
    /// With CountedBy::kValue, except in what choose_quotas returns. ValueDigest::of_group() with
    /// CountedBy::kGroup.
    ValueDigest value{};
    std::int64_t most_values = 0;  ///< PlanTable::most_values with CountedBy::kValue; else 0
    std::string notify{};          ///< PlanTable::notify: `80 100`; empty for none
    bool has_notices() const { return !notify.empty(); }
    bool allows_over() const { return !soft_limits.empty(); }
    /// The limit that is shown and noticed; kNoLimit: none.
    std::int64_t shown_limit(std::size_t window) const {
        return allows_over() ? soft_limits[window] : rates[window].limit();
    }
    /// A window or bucket as it is shown: with that limit.
    Rate shown_rate(std::size_t window) const {
        Rate rate = rates[window];
        if (allows_over()) {
            rate.requests = soft_limits[window];
        }
        return rate;
    }
    bool has_history() const { return history > std::chrono::days(0); }
    bool has_bucket() const { return !rates.empty() && rates.front().is_bucket(); }
};

/// Gives a quota what its table says of all quotas that count alike: their lease time, history,
/// unit and number of values. Rates and `by` of the quota are known.
void take_from(const PlanTable& table, TableQuota& quota);

/// Whether what is granted in these windows is the history of their day.
bool keeps_history(const TableQuota& quota, std::size_t window);

/// For so many windows after the end of a window, Redis still takes adjustments of it: an outage
/// may last, and a lease may end, after the window.
std::int64_t windows_adjusted(const TableQuota& quota, std::size_t window);

/// A quota is small if it has no bucket, at most so many windows, and if each limit is at most this
/// number or there is none. A node stores the state of small quotas in less memory. It stores those
/// of the same layout apart if only one of them is small: they share no counts.
constexpr std::size_t kMostSmallWindows = 2;
constexpr std::int64_t kLargestSmallLimit = std::numeric_limits<std::int32_t>::max();
bool is_small(const TableQuota& quota);

/// The largest lease that a node's state of this quota holds: kLargestSmallLimit if the quota is
/// small, else Units::kMost. A small quota without a limit may cost more.
std::int64_t most_lease(const TableQuota& quota);

/// Names the layout of a quota, and whether it is small: `3600-86400`, and `-sliding` or `-large`
/// after it; `1b` is a bucket of a rate per second, and months that begin on another day have the
/// code of their period. A node stores what it names apart, and so numbers its reports apart.
std::string layout_name(const TableQuota& quota);

/// The quotas of a key in all tables that decide together.
using Quotas = std::vector<TableQuota>;

/// The levels of a table as TableQuota::notify has them.
std::string noticed_levels(const PlanTable& table);

/// How many windows they have in all.
std::size_t window_count(const Quotas& quotas);

/// Whether one of their limits, or of their bursts, is less than the cost: no such request is ever
/// granted. A cost of 1 exceeds no limit.
bool exceeds_limit(const Quotas& quotas, const Cost& cost);

/// Whether any of their windows has a limit. Otherwise they only count, for a history or beyond
/// soft limits.
bool have_limit(const Quotas& quotas);

/// The quotas of a key in these tables: one for each table, except for those where its plan is
/// unlimited and that keep no history. A table that counts values has one without a value, and
/// before it, if it keeps a history, one that counts all of them. In a table that counts groups,
/// what sets the quota is that of the record of the group; a key without a group (nullptr)
/// is not counted there. nullopt if the plan is not in one of the tables. Throws ParseError if the
/// limits of a record can't be parsed.
std::optional<Quotas> choose_quotas(std::span<const PlanTable* const> tables, const KeyRecord& key,
                                    const KeyRecord* group = nullptr);

/// Why no plan of a table that counts values has a balance.
inline constexpr std::string_view kNoBalanceOfValues =
    "belongs to an id or a group, not to a value of a variable";

/// A table that counts values, and the value of a request.
struct TableValue {
    std::uint32_t table_id = 0;  ///< name_hash of its name
    std::string_view value{};    ///< empty: the request is not counted in this table
};

/// The quotas of a request: those that choose_quotas returned, with these values of all tables that
/// count values. Throws std::bad_alloc, or std::runtime_error if OpenSSL fails.
Quotas with_values(const Quotas& quotas, std::span<const TableValue> values);

/// The policy name of a window of this period: `free-minute`.
std::string policy_name(std::string_view plan, Period period);

/// The policy names of the windows and buckets of these rates, in their order. The policy of a
/// bucket is `free-bucket`; if there are several, `free-second-bucket`. The policy of a window
/// without a limit is empty.
std::vector<std::string> policy_names(std::string_view plan, std::span<const Rate> rates);

}  // namespace tollgate
