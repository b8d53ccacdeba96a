#include "module/management/usage_history.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

#include "module/quota/period.hpp"
#include "module/redis/protocol/schema.hpp"
#include "module/text/rfc3339.hpp"
#include "module/text/whole_number.hpp"

namespace tollgate::management {

namespace {

using namespace std::chrono_literals;

/// Another program may have written a larger number.
constexpr std::int64_t kLatestDay =
    std::chrono::floor<std::chrono::days>(kLatestInstant).time_since_epoch().count();

/// The length of a date of RFC 3339.
constexpr std::size_t kDate = 10;

/// A table, and whether it keeps a history as far as is known.
struct CountedTable {
    std::string name;
    bool has_history;
};

std::vector<CountedTable> tables_of(const CountingTables& tables) {
    std::vector<CountedTable> counted;
    for (const PlanTable* table : tables.known) {
        counted.push_back({table->name, table->has_history()});
    }
    for (const auto& table : tables.found) {
        counted.push_back({table, false});
    }
    return counted;
}

/// The name of a field from its parts.
std::string joined_name(const std::array<std::string_view, 3>& parts) {
    std::string name;
    for (const auto part : parts) {
        name += part;
    }
    return name;
}

std::string field_of_day(std::string_view part) {
    const auto period = stored_period(24h);
    return joined_name(redis::window_field(period, part));
}

/// The days of tables that are still in the quotas.
using OpenDays = std::vector<std::optional<std::int64_t>>;

std::string history_field(std::string_view table, std::int64_t day) {
    return joined_name(redis::history_field(table, std::to_string(day)));
}

/// Reads the days that are still in the quotas. With `before`, the days that were there before, the
/// fields of the history that these days have been moved to since are read at once.
Transaction reading_of_quotas(const redis::Keys& keys, const std::string& id,
                              const std::vector<CountedTable>& tables, const OpenDays& before) {
    Transaction transaction;
    for (const auto& table : tables) {
        transaction.commands.push_back({"HMGET", keys.quota(id, table.name),
                                        field_of_day(redis::window_part::kNumber),
                                        field_of_day(redis::window_part::kCount)});
    }
    redis::Command moved{"HMGET", keys.history(id)};
    for (std::size_t i = 0; i < before.size(); ++i) {
        if (before[i]) {
            moved.push_back(history_field(tables[i].name, *before[i]));
        }
    }
    if (moved.size() > 2) {
        transaction.commands.push_back(std::move(moved));
    }
    return transaction;
}

/// The units of each day and table.
class Days {
  public:
    void add(std::optional<std::int64_t> day, std::string_view table, std::string_view units) {
        if (day) {
            units_[{*day, std::string(table)}] += redis::number_or_zero(units);
        }
    }
    bool has_table(std::string_view table) const {
        return std::ranges::any_of(units_,
                                   [&](const auto& one) { return one.first.second == table; });
    }
    /// Units are below 0 only if Redis has lost counts.
    UsageHistory take() {
        UsageHistory history;
        for (const auto& [day, units] : units_) {
            if (units > 0) {
                history.push_back({.day = std::chrono::sys_days(std::chrono::days(day.first)),
                                   .table = day.second,
                                   .units = units});
            }
        }
        return history;
    }

  private:
    std::map<std::pair<std::int64_t, std::string>, std::int64_t> units_;
};

/// What has been read of the history of an id.
struct Reading {
    std::string id;
    OpenDays before{};                           ///< the days in the quotas before the scan
    std::map<std::string, std::string> moved{};  ///< days in the history
    std::string cursor = "0";
};

OpenDays open_days_of(const std::vector<redis::Value>& quotas, std::size_t tables) {
    OpenDays days;
    for (std::size_t i = 0; i < tables; ++i) {
        const auto& values = quotas[i].elements;
        days.push_back(values.size() == 2 ? parse_whole_number(values.front().text, 0, kLatestDay)
                                          : std::nullopt);
    }
    return days;
}

/// Adds the fields of a page. Sets the cursor of the next one.
void add_page(Reading& reading, const redis::Value& page) {
    if (page.elements.size() != 2) {
        throw unexpected_reply();
    }
    reading.cursor = page.elements.front().text;
    for (const auto& [field, units] : page.elements.back().fields()) {
        reading.moved.insert_or_assign(std::string(field), std::string(units));
    }
}

/// `quotas` are the replies to reading_of_quotas().
UsageHistory history_of(Reading reading, const std::vector<redis::Value>& quotas,
                        const std::vector<CountedTable>& tables) {
    const bool has_moved = quotas.size() > tables.size();
    std::size_t next = 0;
    for (std::size_t i = 0; i < tables.size(); ++i) {
        if (!reading.before[i]) {
            continue;
        }
        if (!has_moved || next >= quotas.back().elements.size()) {
            throw unexpected_reply();
        }
        const auto& units = quotas.back().elements[next++];
        if (!units.is_nil()) {
            reading.moved.insert_or_assign(history_field(tables[i].name, *reading.before[i]),
                                           units.text);
        }
    }
    Days days;
    for (const auto& [field, units] : reading.moved) {
        const auto colon = std::min(field.find(':'), field.size());
        const auto day = std::string_view(field).substr(std::min(colon + 1, field.size()));
        days.add(parse_whole_number(day, 0, kLatestDay), std::string_view(field).substr(0, colon),
                 units);
    }
    const auto open = open_days_of(quotas, tables.size());
    for (std::size_t i = 0; i < tables.size(); ++i) {
        // A table that keeps a history no longer has a last day as well.
        if (open[i] && (tables[i].has_history || days.has_table(tables[i].name))) {
            days.add(open[i], tables[i].name, quotas[i].elements.back().text);
        }
    }
    return days.take();
}

/// Reads the days in the quotas of each id.
Task<std::vector<Replies>> read_quotas(Database& database, const redis::Keys& keys,
                                       const std::vector<Reading>& readings,
                                       const std::vector<CountedTable>& tables) {
    if (tables.empty()) {
        co_return std::vector<Replies>(readings.size(), Replies(std::in_place));
    }
    std::vector<Transaction> transactions;
    transactions.reserve(readings.size());
    for (const auto& reading : readings) {
        transactions.push_back(reading_of_quotas(keys, reading.id, tables, reading.before));
    }
    co_return co_await execute(database, std::move(transactions));
}

/// Reads the histories of all ids, a page of each at a time.
Task<void> scan(Database& database, const redis::Keys& keys, std::vector<Reading>& readings) {
    // Redis returns a small hash as a whole, but not more than its hash-max-listpack-entries.
    constexpr std::string_view kFields = "200";
    constexpr int kMostPages = 1000;
    std::vector<Reading*> unfinished;
    unfinished.reserve(readings.size());
    for (auto& reading : readings) {
        unfinished.push_back(&reading);
    }
    for (int pages = 0; !unfinished.empty(); ++pages) {
        if (pages == kMostPages) {
            throw unexpected_reply();
        }
        std::vector<redis::Command> commands;
        commands.reserve(unfinished.size());
        for (const auto* reading : unfinished) {
            commands.push_back({"HSCAN", keys.history(reading->id), reading->cursor, "COUNT",
                                std::string(kFields)});
        }
        const auto read = co_await run_all(database, std::move(commands));
        for (std::size_t i = 0; i < read.size(); ++i) {
            add_page(*unfinished[i], read[i]);
        }
        std::erase_if(unfinished, [](const Reading* reading) { return reading->cursor == "0"; });
    }
}

}  // namespace

Task<UsageHistory> read_history(Database& database, const redis::Keys& keys, std::string id,
                                CountingTables tables) {
    std::vector<std::string> ids;
    ids.push_back(std::move(id));
    auto histories = co_await read_histories(database, keys, std::move(ids), std::move(tables));
    co_return std::move(histories.front());
}

// An acquire may move a day from a quota to the history at any time. The days in the quotas are
// therefore read before the history and after it: a day that was moved in the meantime is read
// again.
Task<std::vector<UsageHistory>> read_histories(Database& database, const redis::Keys& keys,
                                               std::vector<std::string> ids,
                                               CountingTables tables) {
    const auto counted = tables_of(tables);
    std::vector<Reading> readings;
    readings.reserve(ids.size());
    for (auto& id : ids) {
        readings.push_back({.id = std::move(id)});
    }
    const auto before = co_await read_quotas(database, keys, readings, counted);
    for (std::size_t i = 0; i < readings.size(); ++i) {
        readings[i].before = open_days_of(before[i].value(), counted.size());
    }
    co_await scan(database, keys, readings);
    const auto after = co_await read_quotas(database, keys, readings, counted);
    std::vector<UsageHistory> histories;
    histories.reserve(readings.size());
    for (std::size_t i = 0; i < readings.size(); ++i) {
        histories.push_back(history_of(std::move(readings[i]), after[i].value(), counted));
    }
    co_return histories;
}

std::optional<std::chrono::sys_days> parse_day(std::string_view text) {
    const auto time = text.size() == kDate ? parse_rfc3339(text) : std::nullopt;
    return time ? std::optional(std::chrono::floor<std::chrono::days>(*time)) : std::nullopt;
}

std::string format_day(std::chrono::sys_days day) {
    return format_time(day).substr(0, kDate);
}

void write_history(JsonWriter& json, const std::string& id, const UsageHistory& history) {
    json.member("id", id);
    json.array("days", [&] {
        for (const auto& day : history) {
            json.object([&] {
                json.member("day", format_day(day.day));
                json.member("table", day.table);
                json.member("units", day.units);
            });
        }
    });
}

}  // namespace tollgate::management
