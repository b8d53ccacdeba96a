#pragma once

#include <chrono>
#include <compare>
#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "module/plan/billing_day.hpp"

namespace tollgate {

/// The period of a rate: a number of seconds, a month in UTC, or that of a balance, which never
/// ends.
class Period {
  public:
    /// The longest period of seconds.
    static constexpr std::chrono::seconds kLongest = std::chrono::hours(366 * 24);

    /// From 1 second to kLongest. Implicit, because a period is usually written as a time: `60s`.
    template <std::convertible_to<std::chrono::seconds> Time>
    constexpr Period(Time length)
        : code_(static_cast<std::uint32_t>(std::chrono::seconds(length).count())) {}
    /// A month: that of the calendar, or that of a customer. It is equal to no number of seconds.
    static constexpr Period month(const BillingDay& billing = {}) {
        const auto from = static_cast<std::uint32_t>(billing.from.time_since_epoch().count());
        return Period(kMonth | (billing.before - 1) << kBeforeShift | from << kFromShift |
                      (billing.day - 1));
    }
    /// That of a balance. It is equal to no number of seconds.
    static constexpr Period balance() { return Period(kBalance); }
    /// See code().
    static constexpr Period of_code(std::uint32_t code) { return Period(code); }

    constexpr bool is_month() const { return code_ >= kMonth && code_ < kBalance; }
    /// On which day it begins, if it is a month.
    constexpr BillingDay billing() const {
        return {.day = (code_ & kDayMask) + 1,
                .before = (code_ >> kBeforeShift & kDayMask) + 1,
                .from = std::chrono::sys_days(std::chrono::days(code_ >> kFromShift & kFromMask))};
    }
    constexpr bool is_balance() const { return code_ == kBalance; }
    /// The length; of a month, the mean length (the Gregorian calendar repeats after 400 years); of
    /// a balance, kForever.
    constexpr std::chrono::seconds length() const {
        return is_month()     ? std::chrono::seconds(std::chrono::months(1))
               : is_balance() ? kForever
                              : std::chrono::seconds(code_);
    }
    /// The time from the Unix epoch to the end of the year 9999.
    static constexpr std::chrono::seconds kForever{253'402'300'800};
    /// The bits of a code, and the largest code.
    static constexpr unsigned kCodeBits = 29;
    static constexpr std::uint32_t kLargestCode = (1U << kCodeBits) - 1;
    /// The number by which shared memory stores it, from 1 to kLargestCode: the seconds, or a
    /// number above kLongest.
    constexpr std::uint32_t code() const { return code_; }

    constexpr bool operator==(const Period&) const = default;
    /// By length: a month is longer than 30 days and shorter than 31.
    constexpr std::strong_ordering operator<=>(const Period& other) const {
        const auto by_length = length().count() <=> other.length().count();
        return by_length != std::strong_ordering::equal ? by_length : code_ <=> other.code_;
    }

  private:
    // The code of a month has the day in 5 bits, BillingDay::from as a number of days, and the day
    // before. That of the calendar is the smallest.
    static constexpr unsigned kFromShift = 5;
    static constexpr unsigned kBeforeShift = 21;
    static constexpr std::uint32_t kDayMask = 31;
    static constexpr std::uint32_t kFromMask = 65'535;
    static constexpr std::uint32_t kMonth = 1U << (kCodeBits - 1);
    static constexpr std::uint32_t kBalance = kLargestCode;

    explicit constexpr Period(std::uint32_t code) : code_(code) {}

    std::uint32_t code_;
};

/// Reads the period of a rate: a unit (`s`, `m`, `h`, `d`), a multiple of one (`15m`), or `month`.
/// nullopt for another text, also for `balance`, which no rate has.
std::optional<Period> parse_period(std::string_view text);

/// Writes a period as parse_period reads it, in the largest unit that divides it; or `balance`.
std::string format_period(Period period);

/// What the period is called in a policy's name: `minute`, `15-minutes`, `month`, `balance`.
std::string period_name(Period period);

/// How Redis's fields name the period: by its seconds, or `month`, or `balance`.
std::string stored_period(Period period);

/// The word for a balance in directives, and in the names of Redis's fields.
inline constexpr std::string_view kBalanceName = "balance";

/// Reads what stored_period writes; nullopt for another text.
std::optional<Period> parse_stored_period(std::string_view text);

}  // namespace tollgate
