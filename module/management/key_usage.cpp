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
#include "module/text/whole_number.hpp"

namespace tollgate::management {

namespace {

/// The record of the current key; an empty one if the id has no key.
KeyRecord record_of(const KeysOfId& keys) {
    return keys.keys.empty() ? KeyRecord{} : keys.keys.front().record;
}

TableLimits limits_of(const PlanTable& table, const KeysOfId& keys) {
    // The limits of a table that counts values are those of each value. Without a value, only the
    // day of its history is counted. In a table that counts groups, nothing of an id is.
    return keys.keys.empty() || table.counts_values() || table.by_group
               ? TableLimits{.table = table.name, .unit = table.unit, .known = true}
               : limits_in(table, record_of(keys));
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

}  // namespace

Task<KeyUsage> read_usage(Database& database, const redis::Keys& keys, std::string id,
                          CountingTables tables) {
    KeyReader reader(database, keys);
    KeyUsage usage{.keys = {},
                   .now = {},
                   .windows = {},
                   .flights = {},
                   .group = {},
                   .ban = {},
                   .complete = tables.complete};
    std::vector<std::string> ids{id};
    auto all_keys = co_await reader.keys_of(std::move(ids));
    usage.keys = std::move(all_keys.front());
    if (usage.keys.keys.empty()) {
        co_await require_known_id(database, keys, id, tables);
    }
    usage.ban = co_await read_ban(database, keys, id);
    std::vector<TableLimits> states;
    for (const auto* table : tables.known) {
        states.push_back(limits_of(*table, usage.keys));
    }
    for (const auto& table : tables.found) {
        const auto record = record_of(usage.keys);
        states.push_back(
            {.table = table, .limits = own_limits(record), .billing = billing_of(record)});
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
        const auto most = state.limits.in_flight;
        if (most != 0 || held != places.end()) {
            usage.flights.push_back({.table = state.table,
                                     .limit = most == 0 ? std::nullopt : std::optional(most),
                                     .places = held == places.end() ? 0 : held->second});
        }
        add_windows(usage.windows, state, replies[i + 2], now);
    }
    if (!owner.group.empty()) {
        usage.group =
            co_await read_counts_of_group(database, keys, owner.group, std::move(tables.known));
    }
    co_return usage;
}

void write_usage(JsonWriter& json, const KeyUsage& usage) {
    const KeyRecord record = record_of(usage.keys);
    json.member("id", usage.keys.id);
    write_quota_fields(json, record);
    json.member("state", state_of(usage.keys, usage.now));
    write_time_or_null(json, "banned_until", usage.ban.until);
    json.member("complete", usage.complete);
    write_windows(json, usage.windows);
    if (usage.group) {
        json.object("group", [&] { write_group_usage(json, *usage.group); });
    } else {
        json.member_or_null("group", "");
    }
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
