#include "module/management/stored_windows.hpp"

#include <chrono>
#include <optional>
#include <string_view>

#include "module/plan/bucket.hpp"
#include "module/redis/protocol/schema.hpp"
#include "module/text/whole_number.hpp"

namespace tollgate::management {

namespace {

/// The most that any part of a window may be. Another program may have written a number that would
/// overflow.
std::int64_t most_of(std::string_view part, Period period) {
    return part == redis::window_part::kNumber ? window_number(kLatestInstant, period)
                                               : Units::kMost;
}

/// Calls `use` with the period, the part and the value of each field such as `60.count`.
template <typename Use>
void for_each_field(const redis::Value& hash, Use use) {
    for (const auto& [field, text] : hash.fields()) {
        const auto dot = field.find('.');
        const auto period = parse_stored_period(field.substr(0, dot));
        if (dot != std::string_view::npos && period) {
            use(*period, field.substr(dot + 1), text);
        }
    }
}

/// The time of a lease in ms. Empty if the text is none.
std::optional<std::int64_t> time_of_lease(std::string_view text) {
    return parse_whole_number(text, 0, kLatestInstant.time_since_epoch().count());
}

/// Reads `TIME:CALL:UNITS`. Empty for another text.
std::optional<StoredLease> lease_of(std::string_view text) {
    const auto first = text.find(':');
    const auto last = text.rfind(':');
    if (first == last) {
        return std::nullopt;
    }
    const auto time = time_of_lease(text.substr(0, first));
    const auto units = parse_whole_number(text.substr(last + 1), 0, Units::kMost);
    if (!time || !units) {
        return std::nullopt;
    }
    return StoredLease{.at = Instant(std::chrono::milliseconds(*time)), .units = *units};
}

}  // namespace

std::string joined(const std::array<std::string_view, 3>& parts) {
    std::string name;
    for (const auto part : parts) {
        name += part;
    }
    return name;
}

std::string field_of_day(std::string_view part) {
    const auto period = stored_period(std::chrono::days(1));
    return joined(redis::window_field(period, part));
}

std::vector<StoredLease> read_leases(const redis::Value& hash) {
    const auto fields = hash.fields();
    const auto recalled = time_of_lease(fields[redis::lease_field::kRecalled]).value_or(0);
    std::vector<StoredLease> leases;
    for (const auto field : {redis::lease_field::kGrant, redis::lease_field::kOfOther}) {
        const auto lease = lease_of(fields[field]);
        if (lease && lease->at.time_since_epoch().count() > recalled) {
            leases.push_back(*lease);
        }
    }
    return leases;
}

StoredWindows read_windows(const redis::Value& hash, const BillingDay& billing) {
    StoredWindows windows;
    for_each_field(hash, [&](Period stored, std::string_view part, std::string_view text) {
        const Period period = stored.is_month() ? Period::month(billing) : stored;
        if (period.is_balance() || part == redis::window_part::kTime ||
            part == redis::window_part::kDebt) {
            return;
        }
        const auto value = parse_whole_number(text, 0, most_of(part, period)).value_or(0);
        StoredWindow& window = windows[period];
        if (part == redis::window_part::kNumber) {
            window.counted.number = value;
        } else if (part == redis::window_part::kCount) {
            window.counted.count = value;
        } else if (part == redis::window_part::kPrevious) {
            window.counted.previous = value;
            window.sliding = true;
        }
    });
    return windows;
}

std::optional<std::int64_t> parse_balance(std::string_view text) {
    const bool is_negative = text.starts_with('-');
    const auto number = parse_whole_number(text.substr(is_negative ? 1 : 0), 0, Units::kMost);
    return number && is_negative ? std::optional(-*number) : number;
}

std::optional<StoredBalance> read_balance(const redis::Value& hash) {
    const auto fields = hash.fields();
    const auto number_in = [&](std::string_view part) -> std::optional<std::int64_t> {
        const auto field = redis::balance_field(part);
        return fields.contains(field) ? std::optional(parse_balance(fields[field]).value_or(0))
                                      : std::nullopt;
    };
    const auto left = number_in(redis::window_part::kLeft);
    if (!left) {
        return std::nullopt;
    }
    return StoredBalance{.left = *left,
                         .credited = number_in(redis::window_part::kCredited).value_or(0)};
}

StoredBuckets read_buckets(const redis::Value& hash) {
    StoredBuckets buckets;
    for_each_field(hash, [&](Period period, std::string_view part, std::string_view text) {
        if (part == redis::window_part::kTime) {
            constexpr auto kLatest = ExactInstant(kLatestInstant).time_since_epoch().count();
            buckets[period].previous = parse_whole_number(text, 0, kLatest).value_or(0);
        } else if (part == redis::window_part::kDebt) {
            buckets[period].count = parse_whole_number(text, 0, kMostDebt).value_or(0);
        }
    });
    return buckets;
}

}  // namespace tollgate::management
