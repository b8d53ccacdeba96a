#pragma once

#include <chrono>
#include <string>
#include <string_view>

namespace tollgate {

/// On which day the months of a customer begin, in UTC: see Period::month. The default is that of
/// the calendar.
struct BillingDay {
    unsigned day = 1;  ///< 1 to 31; in a shorter month, its last day
    /// The day was another one until a month began at `from`. 1970-01-01: it was never changed.
    unsigned before = 1;
    std::chrono::sys_days from{};

    bool operator==(const BillingDay&) const = default;
};

/// The latest BillingDay::from: in the year 2149.
inline constexpr std::chrono::sys_days kLatestBillingChange{std::chrono::days(65'535)};

/// The day on which the month begins that contains `day`.
std::chrono::sys_days month_begin(const BillingDay& billing, std::chrono::sys_days day);

/// The first day after `day` on which a month begins.
std::chrono::sys_days next_month_begin(const BillingDay& billing, std::chrono::sys_days day);

/// Parses a day of the month, 1 to 31, which was never changed. Throws ParseError.
BillingDay parse_billing_day(std::string_view text);

/// Parses what format_billing_day writes, and an empty text as the calendar. Throws ParseError.
BillingDay parse_stored_billing_day(std::string_view text);

/// Writes a billing day as Redis stores it: `15`; or, if it was changed, `15 1 2026-05-15`: the
/// day, the day before, and when it applies. Empty: the calendar.
std::string format_billing_day(const BillingDay& billing);

/// The billing day of an id that gets another day of the month: the month that contains `today` has
/// begun as before, and ends when a month would end by either of them. Both texts are as Redis
/// stores them; empty, and a `before` that is no billing day: the calendar. Throws ParseError, also
/// if `today` is later than kLatestBillingChange.
std::string changed_billing_day(std::string_view before, std::string_view after,
                                std::chrono::sys_days today);

}  // namespace tollgate
