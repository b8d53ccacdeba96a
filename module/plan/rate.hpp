#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "module/plan/period.hpp"
#include "module/plan/units.hpp"

namespace tollgate {

/// The most units of a balance. Redis stores what is left of a balance. A node counts what is
/// missing to kMostBalance, so that a balance is a window that never ends, and its limit is the
/// same for all ids.
constexpr std::int64_t kMostBalance = 1'000'000'000'000'000;

/// A number of requests in each window of a period; or a token bucket that gets this number of
/// tokens in each period (see bucket.hpp); or a balance, whose units are credited to an id.
struct Rate {
    std::int64_t requests;  ///< 1 to kMostRequests, or kNoLimit; of a balance, kMostBalance
    Period period;
    std::int64_t burst = 0;  ///< the tokens of a full bucket, at most most_burst(); 0: a window

    static constexpr Rate balance() { return {kMostBalance, Period::balance()}; }

    bool is_bucket() const { return burst > 0; }
    bool is_balance() const { return period.is_balance(); }
    /// The most units that are granted at once.
    std::int64_t limit() const { return is_bucket() ? burst : requests; }
    bool operator==(const Rate&) const = default;
};

/// The largest debt of a bucket, see bucket.hpp. Further debts are dropped. A full bucket can owe
/// at least as much again as its tokens, after costs that are known at the end and after outages.
constexpr std::int64_t kMostDebt = Units::kMost;

/// The largest burst of a rate with this period, which is no month.
constexpr std::int64_t most_burst(Period period) {
    return kMostDebt / 2 / std::chrono::microseconds(period.length()).count();
}

/// The unit of a plan table without `unit=`. Its windows are shown in `X-RateLimit-*`.
constexpr std::string_view kRequests = "requests";

/// The most requests of a rate, and the largest cost that a limit may grant.
constexpr std::int64_t kMostRequests = 1'000'000'000'000;

/// The cost of a request that names a number above kMostRequests: no limit grants it.
constexpr std::int64_t kMoreThanAnyLimit = kMostRequests + 1;

/// Rate::requests of a window that counts and refuses nothing: more units are never counted.
constexpr std::int64_t kNoLimit = Units::kMost;

/// A plan has at most this many rates: one script call decides them all, and a header line shows
/// them all.
constexpr std::size_t kMaxRates = 4;

/// A quota has at most this many windows: those of the plan's rates, and a day without a limit.
constexpr std::size_t kMaxWindows = kMaxRates + 1;

/// Reads `60r/m`, `100r/15m`, `1000r/month`: a count, `r/`, and a period (see parse_period). Throws
/// ParseError.
Rate parse_rate(std::string_view text);

/// Reads one to kMaxRates rates, each optionally followed by `burst=N`, or `balance`, and sorts
/// them by period, ascending. Throws ParseError, also if two rates have the same period or if a
/// longer period allows less than a shorter one. A month is longer than 30 days and shorter
/// than 31. It has no burst.
std::vector<Rate> parse_rates(std::span<const std::string_view> words);

/// The words of a text that are separated by spaces, as views into it.
std::vector<std::string_view> words_of(std::string_view text);

/// Throws ParseError if windows of these rates cannot slide: months have different lengths, so no
/// part of the last month overlaps a month that ends now, and a balance never ends.
void require_sliding(std::span<const Rate> rates);

/// Whether one of the rates is a balance.
bool has_balance(std::span<const Rate> rates);

/// Lets the months of these rates begin on this day.
void begin_months(std::vector<Rate>& rates, const BillingDay& billing);

/// Throws ParseError if one of the rates is a balance, with this reason.
void require_no_balance(std::span<const Rate> rates, std::string_view reason);

/// Writes a rate as parse_rates reads it: `60r/m`, `10r/s burst=20`, `balance`.
std::string format_rate(const Rate& rate);

}  // namespace tollgate
