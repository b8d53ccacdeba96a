#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "module/cli/commands/commands.hpp"
#include "module/cli/commands/operation_failure.hpp"
#include "module/cli/keys/audit_log.hpp"
#include "module/cli/keys/plan_check.hpp"
#include "module/cli/terminal/render.hpp"
#include "module/cli/terminal/result_format.hpp"
#include "module/management/all_usage.hpp"
#include "module/management/group_index.hpp"
#include "module/management/groups.hpp"
#include "module/management/history_reader.hpp"
#include "module/management/key_reader.hpp"
#include "module/management/key_usage.hpp"
#include "module/management/known_id.hpp"
#include "module/management/operations.hpp"

namespace tollgate::cli {

namespace {

using std::chrono::sys_days;

constexpr std::size_t kKeysAtOnce = 1000;
constexpr std::size_t kIdsPerPage = 200;

sys_days require_day(std::string_view option, const std::string& text) {
    const auto day = management::parse_day(text);
    if (!day) {
        throw Failure(ExitStatus::kUsage,
                      std::string(option) + ": invalid day \"" + text + "\": use 2027-01-31");
    }
    return *day;
}

/// Searches Redis for the tables that have counts for an id: no gateway has published its tables.
/// Scans about 100,000 keys.
management::CountingTables search_tables(RedisSession& session, const std::string& id) {
    constexpr int kPages = 100;
    const auto owner = complete(management::owner_of(session, session.keys(), id));
    const auto prefix = session.keys().quota(owner.owner(), "");
    std::set<std::string> found;
    RedisSession::ScanPosition position;
    bool is_complete = false;
    for (int page = 0; page < kPages && !is_complete; ++page) {
        for (const auto& key : session.scan(position, escape_glob(prefix) + "*", kKeysAtOnce)) {
            auto table = key.substr(prefix.size());
            // The counter of a value is none of the id.
            if (table.find(':') == std::string::npos) {
                found.insert(std::move(table));
            }
        }
        is_complete = position.is_at_start();
    }
    return {.known = {}, .found = {found.begin(), found.end()}, .complete = is_complete};
}

/// The published plan tables. Warns if there are none: it is then not known which tables keep a
/// history.
std::vector<PlanTable> tables_with_history(RedisSession& session) {
    auto tables = read_tables(session);
    if (tables.empty()) {
        warn(without_tables(session, "the last day of an id may be missing"));
    }
    return tables;
}

/// The result of a task for an id. If the id is unknown and is the name of a group, the failure
/// names the command for groups.
template <typename Result>
Result complete_for_id(RedisSession& session, const std::string& id, std::string_view command,
                       management::Task<Result> task) {
    try {
        return complete(std::move(task));
    } catch (const Failure& failure) {
        if (failure.status() != ExitStatus::kUnknownId ||
            !complete(management::records_of_groups(session, session.keys(), {id})).front()) {
            throw;
        }
        throw Failure(ExitStatus::kUnknownId,
                      "\"" + id + "\" is a group, and no id: see " + std::string(command));
    }
}

void show_history(RedisSession& session, const CommandLine& line) {
    const auto tables = tables_with_history(session);
    const auto history = complete(management::read_history(session, session.keys(), line.id,
                                                           management::known_tables(tables)));
    if (history.empty()) {
        complete(management::require_known_id(session, session.keys(), line.id,
                                              management::known_tables(tables)));
    }
    require_print(render_history(line.format(), line.id, history));
}

std::string line_of(Format format, const std::string& id, const management::DayUsage& day) {
    if (format == Format::kText) {
        // Ids and names of tables have no characters that CSV quotes (RFC 4180).
        return id + "," + day.table + "," + management::format_day(day.day) + "," +
               std::to_string(day.units) + "\n";
    }
    return json_line([&](JsonWriter& json) {
        json.member("id", id);
        json.member("table", day.table);
        json.member("day", management::format_day(day.day));
        json.member("units", day.units);
    });
}

std::string line_of(Format format, const std::string& id, const management::BilledPeriod& period) {
    if (format == Format::kText) {
        return id + "," + period.table + "," + management::format_day(period.first) + "," +
               management::format_day(period.last) + "," + std::to_string(period.units) + "," +
               (period.limit ? std::to_string(*period.limit) : "") + "," +
               std::to_string(period.over) + "\n";
    }
    return json_line([&](JsonWriter& json) {
        json.member("id", id);
        write_period(json, period);
    });
}

}  // namespace

void reset_usage(RedisSession& session, const CommandLine& line) {
    const auto tables = require_tables(session, "id");
    complete_for_id(session, line.id, "tollgate group reset",
                    management::require_known_id(session, session.keys(), line.id,
                                                 management::known_tables(tables)));
    warn_unless_kept(line.id,
                     complete(management::reset_usage_of(caller_of(session), {line.id},
                                                         management::known_tables(tables))));
    show_usage(session, line);
}

void show_usage(RedisSession& session, const CommandLine& line) {
    if (line.history) {
        show_history(session, line);
        return;
    }
    const auto tables = read_tables(session);
    auto counting =
        tables.empty() ? search_tables(session, line.id) : management::known_tables(tables);
    const auto usage = complete_for_id(
        session, line.id, "tollgate group usage",
        management::read_usage(session, session.keys(), line.id, std::move(counting)));
    require_print(render_usage(line.format(), usage));
    if (tables.empty()) {
        warn(without_tables(session,
                            usage.complete
                                ? "the limits of plans are unknown"
                                : "the limits of plans are unknown, and only a part of Redis was "
                                  "searched for counts"));
    }
    if (!usage.keys.keys.empty()) {
        warn_about(tables, usage.keys.keys.front().record);
    }
}

/// The lines of an id are ordered by day and table. The ids are in the order of
/// management::CountedIds.
void export_usage(RedisSession& session, const CommandLine& line) {
    const auto tables = tables_with_history(session);
    const auto now = complete(management::KeyReader(session, session.keys()).now());
    const auto yesterday = std::chrono::floor<std::chrono::days>(now) - std::chrono::days(1);
    const management::DayRange days{
        .from = line.from.empty() ? sys_days() : require_day("--from", line.from),
        .to = line.to.empty() ? yesterday : require_day("--to", line.to)};
    if (!line.from.empty() && *days.to < *days.from) {
        throw Failure(ExitStatus::kUsage, "--from is after --to, which is yesterday by default");
    }
    if (!line.json) {
        require_print(line.billed_by.empty() ? "id,table,day,units\n"
                                             : "id,table,first,last,units,limit,over\n");
    }
    std::optional<std::string> after;
    do {
        const auto page = complete(
            management::read_all_usage(session, session.keys(),
                                       {.after = after,
                                        .limit = kIdsPerPage,
                                        .days = days,
                                        .subjects = management::CountedIds::Subjects::kIncluded,
                                        .by = management::parse_billed_by(line.billed_by)},
                                       management::known_tables(tables)));
        std::string lines;
        for (const auto& id : page.ids) {
            for (const auto& day : id.days) {
                lines += line_of(line.format(), id.id, day);
            }
            for (const auto& period : id.periods) {
                lines += line_of(line.format(), id.id, period);
            }
        }
        require_print(lines);
        after = page.next;
    } while (after);
}

}  // namespace tollgate::cli
