#include "module/management/history_reader.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

#include "module/management/stored_windows.hpp"
#include "module/plan/period.hpp"
#include "module/redis/protocol/schema.hpp"
#include "module/text/whole_number.hpp"

namespace tollgate::management {

namespace {

using namespace std::chrono_literals;
using CountedTables = std::vector<HistoryReader::CountedTable>;
using OpenDays = HistoryReader::OpenDays;
using Reading = HistoryReader::Reading;

/// Histories with so many fields are read at once.
constexpr std::size_t kFewFields = 200;
/// How many larger ones are read at the same time.
constexpr std::size_t kManyAtOnce = 8;

/// Another program may have written a larger number.
constexpr std::int64_t kLatestDay =
    std::chrono::floor<std::chrono::days>(kLatestInstant).time_since_epoch().count();

std::string history_field(std::string_view table, std::int64_t day) {
    return joined(redis::history_field(table, std::to_string(day)));
}

/// Reads the days that are still in the quotas. With `before`, the days that were there before, the
/// fields of the history that these days have been moved to since are read at once.
Transaction reading_of_quotas(const redis::Keys& keys, const redis::Owner& id,
                              const CountedTables& tables, const OpenDays& before) {
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
            units_[{*day, std::string(table)}] += redis::units_or_zero(units);
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

OpenDays open_days_of(const std::vector<redis::Value>& quotas, std::size_t tables) {
    OpenDays days;
    for (std::size_t i = 0; i < tables; ++i) {
        const auto& values = quotas[i].elements;
        days.push_back(values.size() == 2 ? parse_whole_number(values.front().text, 0, kLatestDay)
                                          : std::nullopt);
    }
    return days;
}

void add_fields(Reading& reading, const redis::Value& fields) {
    for (const auto& [field, units] : fields.fields()) {
        reading.moved.insert_or_assign(std::string(field), std::string(units));
    }
}

/// Adds the fields of a page. Sets the cursor of the next one.
void add_page(Reading& reading, const redis::Value& page) {
    if (page.elements.size() != 2) {
        throw unexpected_reply();
    }
    reading.cursor = page.elements.front().text;
    add_fields(reading, page.elements.back());
}

/// `quotas` are the replies to reading_of_quotas().
UsageHistory history_of(Reading reading, const std::vector<redis::Value>& quotas,
                        const CountedTables& tables) {
    std::size_t next = 0;
    for (std::size_t i = 0; i < reading.before.size(); ++i) {
        if (!reading.before[i]) {
            continue;
        }
        if (quotas.size() <= tables.size() || next >= quotas.back().elements.size()) {
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

enum class Histories : bool { kOmitted, kIfSmall };

/// Reads the days in the quotas of each id, and its history at the same time, if that is small.
Task<std::vector<Replies>> read_quotas(Database& database, const redis::Keys& keys,
                                       const std::vector<Reading>& readings,
                                       const CountedTables& tables, Histories histories) {
    const bool has_histories = histories == Histories::kIfSmall;
    std::vector<Transaction> transactions;
    transactions.reserve(readings.size());
    for (const auto& reading : readings) {
        auto& transaction = transactions.emplace_back(
            reading_of_quotas(keys, reading.id.owner(), tables, reading.before));
        if (has_histories) {
            transaction.commands.push_back(
                reading_of_small_hash(keys.history(reading.id.owner()), kFewFields));
        }
        co_await Pause(database);
    }
    if (!has_histories && tables.empty()) {
        co_return std::vector<Replies>(readings.size(), Replies(std::in_place));
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
            commands.push_back({"HSCAN", keys.history(reading->id.owner()), reading->cursor,
                                "COUNT", std::string(kFields)});
        }
        const auto read = co_await run_all(database, std::move(commands));
        for (std::size_t i = 0; i < read.size(); ++i) {
            add_page(*unfinished[i], read[i]);
            co_await Pause(database);
        }
        std::erase_if(unfinished, [](const Reading* reading) { return reading->cursor == "0"; });
    }
}

}  // namespace

HistoryReader::HistoryReader(Database& database, const redis::Keys& keys,
                             const CountingTables& tables)
    : database_(database), keys_(keys) {
    for (const PlanTable* table : tables.known) {
        tables_.push_back({table->name, table->has_history()});
    }
    for (const auto& table : tables.found) {
        tables_.push_back({table, false});
    }
    std::ranges::copy_if(tables_, std::back_inserter(with_history_), &CountedTable::has_history);
}

Task<std::vector<UsageHistory>> HistoryReader::read(std::vector<std::string> ids) {
    std::vector<UsageHistory> histories(ids.size());
    std::vector<Reading> all;
    all.reserve(ids.size());
    auto owners = co_await owners_of(database_, keys_, std::move(ids));
    for (std::size_t i = 0; i < owners.size(); ++i) {
        all.push_back({.id = std::move(owners[i]), .index = i});
    }
    std::vector<Reading> many;
    auto with_others = co_await read_few(std::move(all), with_history_, many, histories);
    if (!with_others.empty()) {
        co_await read_few(std::move(with_others), tables_, many, histories);
    }
    while (!many.empty()) {
        const auto rest = many.size() - std::min(many.size(), kManyAtOnce);
        std::vector<Reading> next(
            std::make_move_iterator(many.begin() + static_cast<std::ptrdiff_t>(rest)),
            std::make_move_iterator(many.end()));
        many.resize(rest);
        co_await read_many(std::move(next), histories);
    }
    co_return histories;
}

/// Histories that Redis returns as a whole, together with the days in the quotas of these tables.
/// Adds the larger ones to `many`. Returns those with days of others than these tables.
Task<std::vector<Reading>> HistoryReader::read_few(std::vector<Reading> readings,
                                                   const std::vector<CountedTable>& tables,
                                                   std::vector<Reading>& many,
                                                   std::vector<UsageHistory>& histories) {
    std::vector<Reading> with_others;
    auto all = co_await read_quotas(database_, keys_, readings, tables, Histories::kIfSmall);
    for (std::size_t i = 0; i < readings.size(); ++i) {
        co_await Pause(database_);
        const auto replies = std::exchange(all[i], std::nullopt).value();
        const auto& history = replies.back();
        if (history.kind == redis::Value::Kind::kInteger) {
            many.push_back(std::move(readings[i]));
            continue;
        }
        add_fields(readings[i], history);
        if (tables.size() < tables_.size() && has_other_tables(readings[i])) {
            readings[i].moved.clear();
            with_others.push_back(std::move(readings[i]));
            continue;
        }
        const auto index = readings[i].index;
        histories[index] = history_of(std::move(readings[i]), replies, tables);
    }
    co_return with_others;
}

/// Whether the history has days of a counted table that keeps none any more: its last day is still
/// in the quota.
bool HistoryReader::has_other_tables(const Reading& reading) const {
    return std::ranges::any_of(tables_, [&](const CountedTable& table) {
        const auto first = reading.moved.lower_bound(table.name + ":");
        return !table.has_history && first != reading.moved.end() &&
               first->first.starts_with(table.name + ":");
    });
}

/// Histories that are read in pages. An acquire may move a day from a quota to the history at any
/// time. The days in the quotas were therefore read before the history, and are read after it: a
/// day that was moved in the meantime is read again.
Task<void> HistoryReader::read_many(std::vector<Reading> readings,
                                    std::vector<UsageHistory>& histories) {
    const auto before =
        co_await read_quotas(database_, keys_, readings, tables_, Histories::kOmitted);
    for (std::size_t i = 0; i < readings.size(); ++i) {
        readings[i].before = open_days_of(before[i].value(), tables_.size());
    }
    co_await scan(database_, keys_, readings);
    const auto after =
        co_await read_quotas(database_, keys_, readings, tables_, Histories::kOmitted);
    for (std::size_t i = 0; i < readings.size(); ++i) {
        const auto index = readings[i].index;
        histories[index] = history_of(std::move(readings[i]), after[i].value(), tables_);
        co_await Pause(database_);
    }
}

Task<UsageHistory> read_history(Database& database, const redis::Keys& keys, std::string id,
                                CountingTables tables) {
    std::vector<std::string> ids;
    ids.push_back(std::move(id));
    HistoryReader reader(database, keys, tables);
    auto histories = co_await reader.read(std::move(ids));
    co_return std::move(histories.front());
}

}  // namespace tollgate::management
