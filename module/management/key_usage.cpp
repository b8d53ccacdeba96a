#include "module/management/key_usage.hpp"

#include <algorithm>
#include <functional>
#include <limits>
#include <map>
#include <utility>

#include "module/management/group_index.hpp"
#include "module/management/key_json.hpp"
#include "module/management/key_reader.hpp"
#include "module/management/known_id.hpp"
#include "module/management/stored_windows.hpp"
#include "module/quota/bucket.hpp"
#include "module/quota/limits.hpp"
#include "module/text/parse_error.hpp"
#include "module/text/rfc3339.hpp"
#include "module/text/whole_number.hpp"

namespace tollgate::management {

namespace {

/// The limits of an id in one table.
struct TableState {
    std::string table;
    std::vector<Rate> rates;     ///< the known rates of the key
    std::int64_t in_flight = 0;  ///< the known limit; 0: none
    bool sliding = false;        ///< of `rates`; stored windows have their own value
    bool known = false;          ///< whether `rates` is complete
};

/// The limits in the record of the key. They apply in tables where its plan is `custom`.
Limits own_limits(const KeysOfId& keys) {
    if (keys.keys.empty() || keys.keys.front().record.limits.empty()) {
        return {};
    }
    try {
        return parse_limits(keys.keys.front().record.limits);
    } catch (const ParseError&) {
        return {};  // not written by this command: gateways refuse such a key
    }
}

TableState state_in(const PlanTable& table, const KeysOfId& keys) {
    TableState state{.table = table.name, .rates = {}, .known = true};
    // The limits of a table that counts values are those of each value. Without a value, only the
    // day of its history is counted. In a table that counts groups, nothing of an id is.
    const Plan* plan = keys.keys.empty() || table.counts_values() || table.by_group
                           ? nullptr
                           : table.find(keys.keys.front().record.plan);
    if (plan != nullptr) {
        auto limits = plan->kind == Plan::Kind::kCustom
                          ? own_limits(keys)
                          : Limits{.rates = plan->rates, .in_flight = plan->in_flight};
        state.rates = std::move(limits.rates);
        state.in_flight = limits.in_flight;
        state.sliding = plan->sliding;
    }
    return state;
}

/// The places of all nodes, by table: see scripts/flight.lua.
std::map<std::string, std::int64_t, std::less<>> read_places(const redis::Value& hash,
                                                             Instant now) {
    constexpr auto kMost = std::numeric_limits<std::int64_t>::max();
    std::map<std::string, std::int64_t, std::less<>> places;
    for (const auto& [field, text] : hash.fields()) {
        const auto words = words_of(text);
        const auto colon = field.find(':');
        if (colon == std::string_view::npos || words.size() != 3) {
            continue;
        }
        const auto end = parse_whole_number(words[2], 0, kMost).value_or(0);
        if (end > now.time_since_epoch().count()) {
            places[std::string(field.substr(0, colon))] +=
                parse_whole_number(words[0], 0, kMostInFlight).value_or(0);
        }
    }
    return places;
}

WindowUsage usage_now(const TableState& state, Period period, const StoredWindow& window,
                      Instant now) {
    const auto running = roll(window.counted, period, now);
    WindowUsage usage{
        .table = state.table,
        .period = period,
        .count = running.count,
        .previous = std::nullopt,
        .used = spent(running, period, window.sliding, now),
        .limit = std::nullopt,
        .reset = std::chrono::ceil<std::chrono::seconds>(window_end(running.number, period))};
    if (window.sliding) {
        usage.previous = running.previous;
    }
    const auto rate = std::ranges::find_if(
        state.rates, [&](const Rate& one) { return one.period == period && !one.is_bucket(); });
    if (rate != state.rates.end()) {
        usage.limit = rate->requests;
    }
    return usage;
}

WindowUsage bucket_now(const TableState& state, const Rate& rate, const WindowCount& bucket,
                       Instant now) {
    const std::int64_t debt = debt_at(bucket, rate, now);
    const std::int64_t used = rate.burst - tokens_left(rate, debt);
    const ExactInstant at =
        std::max<ExactInstant>(now, ExactInstant(std::chrono::microseconds(bucket.previous)));
    return {
        .table = state.table,
        .period = rate.period,
        .count = used,
        .previous = std::nullopt,
        .used = used,
        .limit = rate.burst,
        .reset = std::chrono::ceil<std::chrono::seconds>(granted_at(rate, debt, at, rate.burst)),
        .bucket = rate};
}

/// Adds the windows and buckets of a quota, whose hash is given.
void add_windows(KeyUsage& usage, const TableState& state, const redis::Value& hash, Instant now) {
    const auto buckets = read_buckets(hash);
    auto windows = read_windows(hash);
    for (const auto& rate : state.rates) {
        if (rate.is_bucket()) {
            const auto stored = buckets.find(rate.period);
            usage.windows.push_back(bucket_now(
                state, rate, stored == buckets.end() ? WindowCount{} : stored->second, now));
        } else if (state.known) {
            windows.try_emplace(rate.period, StoredWindow{.counted = {}, .sliding = state.sliding});
        }
    }
    for (const auto& [period, window] : windows) {
        usage.windows.push_back(usage_now(state, period, window, now));
    }
}

}  // namespace

CountingTables known_tables(const std::vector<PlanTable>& tables) {
    CountingTables counting;
    for (const auto& table : tables) {
        counting.known.push_back(&table);
    }
    return counting;
}

Task<KeyUsage> read_usage(Database& database, const redis::Keys& keys, std::string id,
                          CountingTables tables) {
    KeyReader reader(database, keys);
    KeyUsage usage{.keys = {},
                   .now = {},
                   .windows = {},
                   .flights = {},
                   .ban = {},
                   .complete = tables.complete};
    std::vector<std::string> ids{id};
    auto all_keys = co_await reader.keys_of(std::move(ids));
    usage.keys = std::move(all_keys.front());
    if (usage.keys.keys.empty()) {
        co_await require_known_id(database, keys, id, tables);
    }
    usage.ban = co_await read_ban(database, keys, id);
    std::vector<TableState> states;
    for (const auto* table : tables.known) {
        states.push_back(state_in(*table, usage.keys));
    }
    for (const auto& table : tables.found) {
        auto limits = own_limits(usage.keys);
        states.push_back(
            {.table = table, .rates = std::move(limits.rates), .in_flight = limits.in_flight});
    }
    const auto owner = co_await owner_of(database, keys, id);
    std::vector<redis::Command> commands;
    commands.push_back({"TIME"});
    commands.push_back({"HGETALL", keys.flight(id)});
    for (const auto& state : states) {
        commands.push_back({"HGETALL", keys.quota(owner.owner(), state.table)});
    }
    const auto replies = co_await run_all(database, std::move(commands));
    const auto now = time_of_reply(replies.front());
    const auto places = read_places(replies[1], now);
    usage.now = std::chrono::floor<std::chrono::seconds>(now);
    for (std::size_t i = 0; i < states.size(); ++i) {
        const auto& state = states[i];
        const auto held = places.find(state.table);
        if (state.in_flight != 0 || held != places.end()) {
            usage.flights.push_back(
                {.table = state.table,
                 .limit = state.in_flight == 0 ? std::nullopt : std::optional(state.in_flight),
                 .places = held == places.end() ? 0 : held->second});
        }
        add_windows(usage, state, replies[i + 2], now);
    }
    co_return usage;
}

std::string name_of(const WindowUsage& window) {
    return period_name(window.period) + (window.bucket.is_bucket() ? " bucket" : "");
}

std::optional<std::int64_t> remaining(const WindowUsage& window) {
    if (!window.limit) {
        return std::nullopt;
    }
    return std::max<std::int64_t>(*window.limit - window.used, 0);
}

void write_usage(JsonWriter& json, const KeyUsage& usage) {
    const KeyRecord record = usage.keys.keys.empty() ? KeyRecord{} : usage.keys.keys.front().record;
    json.member("id", usage.keys.id);
    json.member_or_null("plan", record.plan);
    json.member_or_null("limits", record.limits);
    json.member("state", state_of(usage.keys, usage.now));
    write_time_or_null(json, "banned_until", usage.ban.until);
    json.member("complete", usage.complete);
    json.array("windows", [&] {
        for (const auto& window : usage.windows) {
            json.object([&] {
                json.member("table", window.table);
                json.member("window", name_of(window));
                const Rate& bucket = window.bucket;
                if (bucket.is_bucket()) {
                    json.member("seconds", refill_time(bucket).count());
                    json.member("refill", format_rate({bucket.requests, bucket.period}));
                } else {
                    json.member("seconds", window_length(window.reset, window.period).count());
                    json.member_or_null("refill", "");
                }
                json.member("count", window.count);
                json.member("previous", window.previous);
                json.member("limit", window.limit);
                json.member("used", window.used);
                json.member("remaining", remaining(window));
                json.member("reset", format_time(window.reset));
            });
        }
    });
    if (usage.flights.empty()) {
        return;
    }
    json.array("in_flight", [&] {
        for (const auto& flight : usage.flights) {
            json.object([&] {
                json.member("table", flight.table);
                json.member("limit", flight.limit);
                json.member("places", flight.places);
            });
        }
    });
}

}  // namespace tollgate::management
