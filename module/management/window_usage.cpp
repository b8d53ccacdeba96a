#include "module/management/window_usage.hpp"

#include <algorithm>
#include <utility>

#include "module/management/stored_windows.hpp"
#include "module/plan/table_quota.hpp"
#include "module/plan/window_rest.hpp"
#include "module/quota/lease.hpp"
#include "module/text/parse_error.hpp"
#include "module/text/rfc3339.hpp"

namespace tollgate::management {

namespace {

/// How long a node keeps a lease of this table. If the plan is not known, as with long windows.
std::chrono::milliseconds lease_is_held_for(const TableLimits& of) {
    TableQuota quota;
    quota.rates = of.limits.rates;
    if (quota.rates.empty()) {
        quota.rates.push_back({kNoLimit, std::chrono::days(1)});
    }
    quota.lease_time = of.lease_time;
    return lease_returns_within(quota);
}

/// The units of these leases that a window has counted and that nodes may hold still.
std::int64_t leased_in(const TableLimits& of, Period period, const WindowCount& running,
                       const std::vector<StoredLease>& leases, Instant now) {
    if (of.lease_time == std::chrono::milliseconds(0)) {
        return 0;
    }
    std::int64_t units = 0;
    for (const auto& lease : leases) {
        if (lease.at > now - lease_is_held_for(of) && lease.at <= now &&
            window_number(lease.at, period) == running.number) {
            units += lease.units;
        }
    }
    return std::min(units, running.count);
}

WindowUsage usage_now(const TableLimits& of, Period period, const StoredWindow& window,
                      const std::vector<StoredLease>& leases, Instant now) {
    const auto running = roll(window.counted, Rate{0, period}, now);
    WindowUsage usage{
        .table = of.table,
        .unit = of.unit,
        .period = period,
        .count = running.count,
        .previous = std::nullopt,
        .used = spent(running, period, window.sliding, now),
        .leased = leased_in(of, period, running, leases, now),
        .limit = std::nullopt,
        .is_unlimited = false,
        .reset = std::chrono::ceil<std::chrono::seconds>(renewed_at(running, {0, period}, now))};
    if (window.sliding) {
        usage.previous = running.previous;
    }
    const auto rate = std::ranges::find_if(
        of.limits.rates, [&](const Rate& one) { return one.period == period && !one.is_bucket(); });
    if (rate != of.limits.rates.end()) {
        usage.limit = rate->requests;
        usage.is_soft = of.limits.allows_over;
    } else {
        usage.is_unlimited = of.has_plan;
    }
    return usage;
}

/// The length in seconds; empty for a balance.
std::optional<std::int64_t> length_of(const WindowUsage& window) {
    return window.reset ? std::optional(window_length(*window.reset, window.period).count())
                        : std::nullopt;
}

WindowUsage bucket_now(const TableLimits& of, const Rate& rate, const WindowCount& stored,
                       Instant now) {
    const WindowCount bucket = roll(stored, rate, now);
    const std::int64_t used = rate.burst - units_left(bucket, rate, false, now);
    return {.table = of.table,
            .unit = of.unit,
            .period = rate.period,
            .count = used,
            .previous = std::nullopt,
            .used = used,
            .leased = 0,
            .limit = rate.burst,
            .is_unlimited = false,
            .reset = std::chrono::ceil<std::chrono::seconds>(renewed_at(bucket, rate, now)),
            .bucket = rate};
}

WindowUsage balance_now(const TableLimits& of, const StoredBalance& balance,
                        const std::vector<StoredLease>& leases, Instant now) {
    const std::int64_t used = std::max<std::int64_t>(balance.credited - balance.left, 0);
    return {.table = of.table,
            .unit = of.unit,
            .period = Period::balance(),
            .count = used,
            .previous = std::nullopt,
            .used = used,
            .leased = leased_in(of, Period::balance(), {kBalanceWindow, used}, leases, now),
            .limit = balance.credited,
            .is_unlimited = false,
            .reset = std::nullopt};
}

}  // namespace

std::string name_of(const WindowUsage& window) {
    return period_name(window.period) + (window.bucket.is_bucket() ? " bucket" : "");
}

std::optional<std::int64_t> remaining(const WindowUsage& window) {
    if (!window.limit) {
        return std::nullopt;
    }
    return std::max<std::int64_t>(*window.limit - window.used, 0);
}

BillingDay billing_of(const KeyRecord& record) {
    try {
        return parse_stored_billing_day(record.billing_day);
    } catch (const ParseError&) {
        return {};  // see own_limits
    }
}

Limits own_limits(const KeyRecord& record) {
    if (record.limits.empty()) {
        return {};
    }
    try {
        auto limits = parse_limits(record.limits);
        begin_months(limits.rates, billing_of(record));
        return limits;
    } catch (const ParseError&) {
        return {};  // not written by this command: gateways refuse such a record
    }
}

TableLimits limits_in(const PlanTable& table, const KeyRecord& record) {
    TableLimits found{.table = table.name,
                      .unit = table.unit,
                      .billing = billing_of(record),
                      .known = true,
                      .lease_time = table.lease_time};
    if (const Plan* plan = table.find(record.plan)) {
        const bool is_custom = plan->kind == Plan::Kind::kCustom;
        if (is_custom) {
            found.limits = own_limits(record);
        } else {
            found.limits = {.rates = plan->rates,
                            .in_flight = plan->in_flight,
                            .allows_over = plan->allows_over};
            begin_months(found.limits.rates, found.billing);
        }
        // A custom plan without limits is refused.
        found.has_plan = !is_custom || !found.limits.rates.empty() || found.limits.in_flight != 0;
        found.sliding = plan->sliding;
    }
    return found;
}

CountingTables known_tables(const std::vector<PlanTable>& tables) {
    CountingTables counting;
    for (const auto& table : tables) {
        counting.known.push_back(&table);
    }
    return counting;
}

void add_windows(std::vector<WindowUsage>& windows, const TableLimits& of, const redis::Value& hash,
                 Instant now) {
    const auto buckets = read_buckets(hash);
    auto counted = read_windows(hash, of.billing);
    const auto leases = read_leases(hash);
    for (const auto& rate : of.limits.rates) {
        if (rate.is_bucket()) {
            const auto stored = buckets.find(rate.period);
            windows.push_back(bucket_now(
                of, rate, stored == buckets.end() ? WindowCount{} : stored->second, now));
        } else if (of.known && !rate.is_balance()) {
            counted.try_emplace(rate.period, StoredWindow{.counted = {}, .sliding = of.sliding});
        }
    }
    for (const auto& [period, window] : counted) {
        windows.push_back(usage_now(of, period, window, leases, now));
    }
    const auto balance = read_balance(hash);
    if (balance || has_balance(of.limits.rates)) {
        windows.push_back(balance_now(of, balance.value_or(StoredBalance{}), leases, now));
    }
}

void write_windows(JsonWriter& json, const std::vector<WindowUsage>& windows) {
    json.array("windows", [&] {
        for (const auto& window : windows) {
            json.object([&] {
                json.member("table", window.table);
                json.member_or_null("unit", window.unit);
                json.member("window", name_of(window));
                const Rate& bucket = window.bucket;
                if (bucket.is_bucket()) {
                    json.member("seconds", refill_time(bucket).count());
                    json.member("refill", format_rate({bucket.requests, bucket.period}));
                } else {
                    json.member("seconds", length_of(window));
                    json.member_or_null("refill", "");
                }
                json.member("count", window.count);
                json.member("previous", window.previous);
                json.member("limit", window.limit);
                json.member("unlimited", window.is_unlimited);
                json.member("soft", window.is_soft);
                json.member("used", window.used);
                json.member("leased", window.leased);
                json.member("remaining", remaining(window));
                json.member_or_null("reset", window.reset ? format_time(*window.reset) : "");
            });
        }
    });
}

}  // namespace tollgate::management
