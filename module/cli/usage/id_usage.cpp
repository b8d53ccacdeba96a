#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "module/cli/commands/commands.hpp"
#include "module/cli/keys/audit_log.hpp"
#include "module/cli/keys/operation_failure.hpp"
#include "module/cli/keys/plan_check.hpp"
#include "module/cli/terminal/render.hpp"
#include "module/cli/terminal/result_format.hpp"
#include "module/management/group_index.hpp"
#include "module/management/key_reader.hpp"
#include "module/management/key_usage.hpp"
#include "module/management/known_id.hpp"
#include "module/management/operations.hpp"
#include "module/quota/value_digest.hpp"

namespace tollgate::cli {

namespace {

using std::chrono::sys_days;

constexpr std::size_t kKeysAtOnce = 1000;
constexpr std::size_t kIdsAtOnce = 200;

sys_days require_day(std::string_view option, const std::string& text) {
    const auto day = management::parse_day(text);
    if (!day) {
        throw Failure(ExitStatus::kUsage,
                      std::string(option) + ": invalid day \"" + text + "\": use 2027-01-31");
    }
    return *day;
}

/// All ids that have a history or a quota in Redis.
std::set<std::string> find_ids(RedisSession& session) {
    // A name ends with `{ID}`, with `{ID}:TABLE`, or with `{ID}:TABLE:VALUE`; the id of a group is
    // after the group in braces.
    const auto before_id = [](const std::string& name) {
        return name.substr(0, name.rfind('{') + 1);
    };
    const std::array kinds{before_id(session.keys().history("")),
                           before_id(session.keys().quota("", ""))};
    std::set<std::string> ids;
    RedisSession::ScanPosition position;
    do {
        for (const auto& key :
             session.scan(position, escape_glob(session.prefix()) + "[hq]*{*", kKeysAtOnce)) {
            for (const auto& kind : kinds) {
                if (key.starts_with(kind)) {
                    auto owner = management::owner_in(std::string_view(key).substr(kind.size()));
                    const bool is_group = key.ends_with(ValueDigest::of_group().suffix());
                    if (!owner.id.empty() && !is_group) {
                        ids.insert(std::move(owner.id));
                    }
                }
            }
        }
    } while (!position.is_at_start());
    return ids;
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

std::string without_tables(const RedisSession& session, const std::string& consequence) {
    return "no gateway has published its plan tables with the prefix \"" + session.prefix() +
           "\": " + consequence;
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

}  // namespace

void reset_usage(RedisSession& session, const CommandLine& line) {
    const auto tables = read_tables(session);
    if (tables.empty()) {
        throw Failure(ExitStatus::kRedis,
                      without_tables(session, "it is not known which tables count the id"));
    }
    complete(management::require_known_id(session, session.keys(), line.id,
                                          management::known_tables(tables)));
    const management::Caller caller{session, session.keys(), user_at_host()};
    warn_unless_kept(line.id, complete(management::reset_usage_of(
                                  caller, line.id, management::known_tables(tables))));
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
    const auto usage =
        complete(management::read_usage(session, session.keys(), line.id, std::move(counting)));
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

/// Searches all of Redis for ids, so that revoked ids are printed as well. The lines are ordered by
/// id, day and table.
void export_usage(RedisSession& session, const CommandLine& line) {
    const auto tables = tables_with_history(session);
    const auto now = complete(management::KeyReader(session, session.keys()).now());
    const auto yesterday = std::chrono::floor<std::chrono::days>(now) - std::chrono::days(1);
    const auto from = line.from.empty() ? sys_days() : require_day("--from", line.from);
    const auto to = line.to.empty() ? yesterday : require_day("--to", line.to);
    if (!line.from.empty() && to < from) {
        throw Failure(ExitStatus::kUsage, "--from is after --to, which is yesterday by default");
    }
    const auto counting = management::known_tables(tables);
    if (!line.json) {
        require_print("id,table,day,units\n");
    }
    const auto found = find_ids(session);
    for (auto next = found.begin(); next != found.end();) {
        std::vector<std::string> ids;
        for (; next != found.end() && ids.size() < kIdsAtOnce; ++next) {
            ids.push_back(*next);
        }
        const auto histories =
            complete(management::read_histories(session, session.keys(), ids, counting));
        std::string lines;
        for (std::size_t i = 0; i < ids.size(); ++i) {
            for (const auto& day : histories[i]) {
                if (day.day >= from && day.day <= to) {
                    lines += line_of(line.format(), ids[i], day);
                }
            }
        }
        require_print(lines);
    }
}

}  // namespace tollgate::cli
