#include "module/plan/billing_day.hpp"

#include <algorithm>

#include "module/text/parse_error.hpp"
#include "module/text/rfc3339.hpp"
#include "module/text/whole_number.hpp"

namespace tollgate {

namespace {

using std::chrono::sys_days;

/// When the month of a customer begins that begins in this calendar month.
sys_days begin_in(std::chrono::year_month month, unsigned day) {
    return std::min(sys_days(month / std::chrono::day(1)) + std::chrono::days(day - 1),
                    sys_days(month / std::chrono::last));
}

std::chrono::year_month calendar_month(sys_days day) {
    const std::chrono::year_month_day date(day);
    return date.year() / date.month();
}

sys_days last_begin(unsigned of_month, sys_days day) {
    const auto month = calendar_month(day);
    const auto begin = begin_in(month, of_month);
    return begin <= day ? begin : begin_in(month - std::chrono::months(1), of_month);
}

sys_days next_begin(unsigned of_month, sys_days day) {
    const auto month = calendar_month(day);
    const auto begin = begin_in(month, of_month);
    return begin > day ? begin : begin_in(month + std::chrono::months(1), of_month);
}

unsigned parse_day(std::string_view text) {
    constexpr std::int64_t kLast = 31;
    const auto day = parse_whole_number(text, 1, kLast);
    if (!day) {
        throw ParseError("invalid billing day: use a day of the month, 1 to 31");
    }
    return static_cast<unsigned>(*day);
}

/// Cuts the text before a space.
std::string_view cut_word(std::string_view& text) {
    const auto word = text.substr(0, text.find(' '));
    text.remove_prefix(std::min(word.size() + 1, text.size()));
    return word;
}

/// What another program has stored may be no billing day: gateways refuse the record.
BillingDay stored_or_calendar(std::string_view text) {
    try {
        return parse_stored_billing_day(text);
    } catch (const ParseError&) {
        return {};
    }
}

/// A day of the month by which the running month has begun. After several changes, it may have
/// begun by a day that is not known any more: then it is that of its first day.
unsigned running_day(const BillingDay& billing, sys_days today) {
    const sys_days begin = month_begin(billing, today);
    if (today >= billing.from && last_begin(billing.day, today) == begin) {
        return billing.day;
    }
    return last_begin(billing.before, today) == begin
               ? billing.before
               : static_cast<unsigned>(std::chrono::year_month_day(begin).day());
}

}  // namespace

sys_days month_begin(const BillingDay& billing, sys_days day) {
    return day < billing.from ? last_begin(billing.before, day)
                              : std::max(billing.from, last_begin(billing.day, day));
}

sys_days next_month_begin(const BillingDay& billing, sys_days day) {
    return day < billing.from ? std::min(billing.from, next_begin(billing.before, day))
                              : next_begin(billing.day, day);
}

BillingDay parse_billing_day(std::string_view text) {
    return {.day = parse_day(text)};
}

BillingDay parse_stored_billing_day(std::string_view text) {
    if (text.empty()) {
        return {};
    }
    if (text.find(' ') == std::string_view::npos) {
        return parse_billing_day(text);
    }
    BillingDay billing{.day = parse_day(cut_word(text))};
    billing.before = parse_day(cut_word(text));
    const auto from = parse_rfc3339(text);
    if (!from || *from <= sys_days() || *from > kLatestBillingChange) {
        throw ParseError("invalid billing day: the date from which it applies is none");
    }
    billing.from = std::chrono::floor<std::chrono::days>(*from);
    return billing;
}

std::string format_billing_day(const BillingDay& billing) {
    const bool was_changed = billing.from != sys_days();
    if (billing.day == 1 && !was_changed) {
        return "";
    }
    std::string text = std::to_string(billing.day);
    if (was_changed) {
        const auto from = format_time(billing.from);
        text.append(" ").append(std::to_string(billing.before));
        text.append(" ").append(from, 0, from.find('T'));
    }
    return text;
}

std::string changed_billing_day(std::string_view before, std::string_view after, sys_days today) {
    const auto old = stored_or_calendar(before);
    const auto wanted = parse_stored_billing_day(after);
    if (wanted.day == old.day) {
        return format_billing_day(old);
    }
    const unsigned running = running_day(old, today);
    const bool applies = today >= old.from;
    if (!applies && wanted.day == running) {
        return format_billing_day({.day = wanted.day});
    }
    const BillingDay changed{.day = wanted.day,
                             .before = running,
                             .from = std::min(next_begin(applies ? old.day : running, today),
                                              next_begin(wanted.day, today))};
    if (changed.from > kLatestBillingChange) {
        throw ParseError("a billing day cannot be changed after the year 2149");
    }
    return format_billing_day(changed);
}

}  // namespace tollgate
