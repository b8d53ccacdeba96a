#include "module/plan/table_quota.hpp"

#include <algorithm>
#include <utility>

#include "module/plan/limits.hpp"
#include "module/text/name_hash.hpp"

namespace tollgate {

namespace {

using namespace std::chrono_literals;

constexpr Period kDay = 24h;

/// How long after a day's end its history can be adjusted.
constexpr std::chrono::days kAdjusted{7};

/// The limits of a plan for a key. Throws ParseError.
Limits limits_of(const Plan& plan, const KeyRecord& key) {
    Limits limits;
    if (plan.kind == Plan::Kind::kCustom) {
        limits = parse_limits(key.limits);
        if (plan.sliding) {
            require_sliding(limits.rates);
        }
    } else {
        const bool is_limited = plan.kind == Plan::Kind::kLimited;
        limits = {.rates = is_limited ? plan.rates : std::vector<Rate>(),
                  .in_flight = plan.in_flight,
                  .allows_over = plan.allows_over};
    }
    begin_months(limits.rates, parse_stored_billing_day(key.billing_day));
    return limits;
}

/// Puts the buckets before the windows.
void order_rates(std::vector<Rate>& rates) {
    std::ranges::sort(rates, {},
                      [](const Rate& rate) { return std::pair(!rate.is_bucket(), rate.period); });
}

/// Adds the day that a history needs. It is also the window of a quota that only limits the
/// requests in flight.
void add_day(std::vector<Rate>& rates) {
    if (std::ranges::none_of(
            rates, [](const Rate& rate) { return rate.period == kDay && !rate.is_bucket(); })) {
        rates.push_back({kNoLimit, kDay});
        order_rates(rates);
    }
}

/// Whether a quota with these rates needs a day although its table keeps no history. A quota has a
/// window, and that of a bucket lasts as long as the reports of an outage that concern the bucket.
bool needs_day(const std::vector<Rate>& rates) {
    return rates.empty() ||
           (rates.front().is_bucket() && (rates.back().is_bucket() || rates.back().period < kDay));
}

/// Counts beyond the limits of these windows.
void allow_over(TableQuota& quota) {
    for (Rate& rate : quota.rates) {
        quota.soft_limits.push_back(std::exchange(rate.requests, kNoLimit));
    }
}

/// The bit of WindowLayout::periods that marks a bucket. Codes of periods are below it.
constexpr std::uint32_t kBucketBit = 1U << Period::kCodeBits;

/// A quota in this table, of these rates.
TableQuota quota_in(const PlanTable& table, std::vector<Rate> rates, CountedBy by) {
    TableQuota quota{.table = table.name,
                     .rates = std::move(rates),
                     .policies = {},
                     .table_id = name_hash(table.name),
                     .by = by};
    order_rates(quota.rates);
    take_from(table, quota);
    if (quota.has_history() || needs_day(quota.rates)) {
        add_day(quota.rates);
    }
    return quota;
}

}  // namespace

void take_from(const PlanTable& table, TableQuota& quota) {
    // Leased tokens would let the bucket refill.
    quota.lease_time = quota.has_bucket() ? 0ms : table.lease_time;
    // In a table that counts values, only the quota of all values keeps the history.
    quota.history = quota.by == CountedBy::kValue ? std::chrono::days(0) : table.history;
    quota.unit = table.unit;
    quota.most_values = quota.by == CountedBy::kValue ? table.most_values : 0;
}

bool keeps_history(const TableQuota& quota, std::size_t window) {
    const Rate& rate = quota.rates[window];
    return quota.has_history() && rate.period == kDay && !rate.is_bucket();
}

std::int64_t windows_adjusted(const TableQuota& quota, std::size_t window) {
    return keeps_history(quota, window) ? std::min(kAdjusted, quota.history).count()
                                        : (quota.sliding ? 1 : 0);
}

std::uint32_t WindowLayout::code_of(const Rate& rate) {
    return rate.period.code() | (rate.is_bucket() ? kBucketBit : 0);
}

Period WindowLayout::period_of(std::uint32_t code) {
    return Period::of_code(code & Period::kLargestCode);
}

bool WindowLayout::is_bucket(std::uint32_t code) {
    return (code & kBucketBit) != 0;
}

WindowLayout::WindowLayout(const TableQuota& quota) : sliding(quota.sliding) {
    for (std::size_t i = 0; i < quota.rates.size(); ++i) {
        periods[i] = code_of(quota.rates[i]);
    }
}

QuotaShape::QuotaShape(const TableQuota& quota)
    : layout(quota), is_small(tollgate::is_small(quota)), hash(layout.sliding ? 1 : 0) {
    for (const std::uint32_t period : layout.periods) {
        hash = hash * 31 + period;
    }
}

bool is_small(const TableQuota& quota) {
    const auto is_small_limit = [](std::int64_t limit) {
        return limit <= kLargestSmallLimit || limit == kNoLimit;
    };
    return quota.rates.size() <= kMostSmallWindows && !quota.has_bucket() &&
           std::ranges::all_of(quota.rates, is_small_limit, &Rate::requests) &&
           std::ranges::all_of(quota.soft_limits, is_small_limit);
}

std::int64_t most_lease(const TableQuota& quota) {
    const bool is_in_small_place = quota.shape ? quota.shape->is_small : is_small(quota);
    return is_in_small_place ? kLargestSmallLimit : Units::kMost;
}

std::string layout_name(const TableQuota& quota) {
    std::string name;
    for (const Rate& rate : quota.rates) {
        name.append(name.empty() ? "" : "-").append(stored_period(rate.period));
        name.append(rate.is_bucket() ? "b" : "");
        if (rate.period.is_month() && rate.period != Period::month()) {
            name.append(std::to_string(rate.period.code()));
        }
    }
    return name.append(quota.sliding ? "-sliding" : "").append(is_small(quota) ? "" : "-large");
}

std::string noticed_levels(const PlanTable& table) {
    std::string levels;
    for (const auto level : table.notify) {
        levels.append(levels.empty() ? "" : " ").append(std::to_string(level));
    }
    return levels;
}

std::size_t window_count(const Quotas& quotas) {
    std::size_t count = 0;
    for (const TableQuota& quota : quotas) {
        count += quota.rates.size();
    }
    return count;
}

bool exceeds_limit(const Quotas& quotas, const Cost& cost) {
    if (cost.is_uniform() && cost.steps() <= 1) {
        return false;
    }
    for (std::size_t i = 0; i < quotas.size(); ++i) {
        const std::int64_t units = cost.of(i).units;
        if (units > 1 && std::ranges::any_of(quotas[i].rates, [&](const Rate& rate) {
                return (rate.is_balance() ? kMostRequests : rate.limit()) < units;
            })) {
            return true;
        }
    }
    return false;
}

bool have_limit(const Quotas& quotas) {
    return std::ranges::any_of(quotas, [](const TableQuota& quota) {
        return std::ranges::any_of(quota.rates,
                                   [](const Rate& rate) { return rate.requests != kNoLimit; });
    });
}

std::optional<Quotas> choose_quotas(std::span<const PlanTable* const> tables, const KeyRecord& key,
                                    const KeyRecord* group) {
    Quotas quotas;
    for (const PlanTable* table : tables) {
        if (table->by_group && group == nullptr) {
            continue;
        }
        const KeyRecord& record = table->by_group ? *group : key;
        const Plan* plan = table->find(record.plan);
        if (plan == nullptr) {
            return std::nullopt;
        }
        auto limits = limits_of(*plan, record);
        const CountedBy by = table->by_group          ? CountedBy::kGroup
                             : table->counts_values() ? CountedBy::kValue
                                                      : CountedBy::kId;
        if (by != CountedBy::kId) {
            limits.in_flight = 0;
        }
        if (by == CountedBy::kValue) {
            require_no_balance(limits.rates, kNoBalanceOfValues);
        }
        if (by == CountedBy::kValue && table->has_history()) {
            TableQuota& all = quotas.emplace_back(quota_in(*table, {}, CountedBy::kValues));
            all.policies.resize(all.rates.size());
            all.shape.emplace(all);
        }
        const bool has_history = by != CountedBy::kValue && table->has_history();
        if (limits.rates.empty() && limits.in_flight == 0 && !has_history) {
            continue;
        }
        TableQuota quota = quota_in(*table, std::move(limits.rates), by);
        quota.sliding = plan->sliding;
        quota.in_flight = limits.in_flight;
        if (by == CountedBy::kGroup) {
            quota.value = ValueDigest::of_group();
        }
        quota.notify = noticed_levels(*table);
        // Several tables may have a plan of this name; the table's name makes the policy unique.
        const std::string prefix = tables.size() > 1 ? table->name + "-" : "";
        quota.policies = policy_names(prefix + plan->name, quota.rates);
        if (limits.allows_over) {
            allow_over(quota);
        }
        if (quota.in_flight != 0) {
            quota.in_flight_policy = prefix + plan->name + "-in-flight";
        }
        quota.shape.emplace(quota);
        quotas.push_back(std::move(quota));
    }
    return quotas;
}

Quotas with_values(const Quotas& quotas, std::span<const TableValue> values) {
    Quotas chosen;
    chosen.reserve(quotas.size());
    for (const TableQuota& quota : quotas) {
        if (quota.by == CountedBy::kId || quota.by == CountedBy::kGroup) {
            chosen.push_back(quota);
            continue;
        }
        const auto of_table = std::ranges::find(values, quota.table_id, &TableValue::table_id);
        if (of_table == values.end() || of_table->value.empty()) {
            continue;
        }
        TableQuota& counted = chosen.emplace_back(quota);
        if (quota.by == CountedBy::kValue) {
            counted.value = ValueDigest::of(of_table->value);
        }
    }
    return chosen;
}

std::string policy_name(std::string_view plan, Period period) {
    return std::string(plan) + "-" + period_name(period);
}

std::vector<std::string> policy_names(std::string_view plan, std::span<const Rate> rates) {
    const auto buckets = std::ranges::count_if(rates, &Rate::is_bucket);
    std::vector<std::string> names;
    names.reserve(rates.size());
    for (const Rate& rate : rates) {
        if (rate.is_bucket()) {
            const std::string name =
                buckets == 1 ? std::string(plan) : policy_name(plan, rate.period);
            names.push_back(name + "-bucket");
        } else {
            names.push_back(rate.requests == kNoLimit ? "" : policy_name(plan, rate.period));
        }
    }
    return names;
}

}  // namespace tollgate
