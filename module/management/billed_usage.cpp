#include "module/management/billed_usage.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace tollgate::management {

namespace {

using std::chrono::days;
using std::chrono::sys_days;

/// The limit of a window of this period; empty if the table has none for an id.
std::optional<std::int64_t> limit_of(const CountingTables& tables, const std::string& name,
                                     const KeyRecord& record, Period period) {
    const auto table = std::ranges::find(tables.known, name, &PlanTable::name);
    // The limits of these tables are not those of all requests of an id.
    if (table == tables.known.end() || (*table)->counts_values() || (*table)->by_group) {
        return std::nullopt;
    }
    const auto limits = limits_in(**table, record).limits;
    const auto rate = std::ranges::find_if(
        limits.rates, [&](const Rate& one) { return one.period == period && !one.is_bucket(); });
    return rate == limits.rates.end() ? std::nullopt : std::optional(rate->requests);
}

}  // namespace

std::optional<BilledBy> parse_billed_by(std::string_view text) {
    const auto* const name = std::ranges::find(kBilledBy, text);
    return name == kBilledBy.end() ? std::nullopt
                                   : std::optional(BilledBy(name - kBilledBy.begin()));
}

std::vector<BilledPeriod> billed_periods(const UsageHistory& history, BilledBy by,
                                         const DayRange& ended, const KeyRecord* record,
                                         const CountingTables& tables) {
    const BillingDay billing = record == nullptr ? BillingDay() : billing_of(*record);
    const Period period = by == BilledBy::kDay ? Period(days(1)) : Period::month(billing);
    std::map<std::pair<sys_days, std::string>, BilledPeriod> periods;
    for (const DayUsage& day : history) {
        const auto number = window_number(day.day, period);
        const auto first = std::chrono::floor<days>(window_start(number, period));
        const auto last = std::chrono::floor<days>(window_end(number, period)) - days(1);
        if (!ended.contains(last)) {
            continue;
        }
        auto& billed = periods[{first, day.table}];
        billed.table = day.table;
        billed.first = first;
        billed.last = last;
        billed.units += day.units;
    }
    std::vector<BilledPeriod> all;
    for (auto& [place, billed] : periods) {
        if (record != nullptr) {
            billed.limit = limit_of(tables, billed.table, *record, period);
        }
        if (billed.limit) {
            billed.over = std::max<std::int64_t>(billed.units - *billed.limit, 0);
        }
        all.push_back(std::move(billed));
    }
    return all;
}

void write_period(JsonWriter& json, const BilledPeriod& period) {
    json.member("table", period.table);
    json.member("first", format_day(period.first));
    json.member("last", format_day(period.last));
    json.member("units", period.units);
    json.member("limit", period.limit);
    json.member("over", period.over);
}

}  // namespace tollgate::management
