#include "module/management/usage_history.hpp"

#include <algorithm>
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

std::string field_of_day(std::string_view part) {
    const auto period = stored_period(24h);
    std::string name;
    for (const auto text : redis::window_field(period, part)) {
        name += text;
    }
    return name;
}

/// Reads the days that have been moved to the history, and those that are still in the quotas. An
/// acquire may move a day at any time, so both are read at once.
Transaction reading_of(const redis::Keys& keys, const std::string& id,
                       const std::vector<CountedTable>& tables) {
    Transaction transaction;
    transaction.commands.push_back({"HGETALL", keys.history(id)});
    for (const auto& table : tables) {
        transaction.commands.push_back({"HMGET", keys.quota(id, table.name),
                                        field_of_day(redis::window_part::kNumber),
                                        field_of_day(redis::window_part::kCount)});
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

UsageHistory history_of(const std::vector<redis::Value>& replies,
                        const std::vector<CountedTable>& tables) {
    Days days;
    for (const auto& [field, units] : replies.front().fields()) {
        const auto colon = std::min(field.find(':'), field.size());
        const auto day = field.substr(std::min(colon + 1, field.size()));
        days.add(parse_whole_number(day, 0, kLatestDay), field.substr(0, colon), units);
    }
    for (std::size_t i = 0; i < tables.size(); ++i) {
        const auto& values = replies[i + 1].elements;
        // A table that keeps a history no longer has a last day as well.
        if (values.size() == 2 && (tables[i].has_history || days.has_table(tables[i].name))) {
            days.add(parse_whole_number(values.front().text, 0, kLatestDay), tables[i].name,
                     values.back().text);
        }
    }
    return days.take();
}

std::vector<Transaction> readings_of(const redis::Keys& keys, const std::vector<std::string>& ids,
                                     const CountingTables& tables) {
    const auto counted = tables_of(tables);
    std::vector<Transaction> transactions;
    transactions.reserve(ids.size());
    for (const auto& id : ids) {
        transactions.push_back(reading_of(keys, id, counted));
    }
    return transactions;
}

std::vector<UsageHistory> histories_of(const std::vector<Replies>& replies,
                                       const CountingTables& tables) {
    const auto counted = tables_of(tables);
    std::vector<UsageHistory> histories;
    histories.reserve(replies.size());
    for (const auto& of_id : replies) {
        histories.push_back(history_of(of_id.value(), counted));
    }
    return histories;
}

}  // namespace

Task<UsageHistory> read_history(Database& database, const redis::Keys& keys, std::string id,
                                CountingTables tables) {
    std::vector<std::string> ids;
    ids.push_back(std::move(id));
    auto histories = co_await read_histories(database, keys, std::move(ids), std::move(tables));
    co_return std::move(histories.front());
}

Task<std::vector<UsageHistory>> read_histories(Database& database, const redis::Keys& keys,
                                               std::vector<std::string> ids,
                                               CountingTables tables) {
    const auto replies = co_await execute(database, readings_of(keys, ids, tables));
    co_return histories_of(replies, tables);
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
