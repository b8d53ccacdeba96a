#include "module/cli/usage/usage_export.hpp"

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>

#include "module/cli/failure.hpp"
#include "module/cli/keys/operation_failure.hpp"
#include "module/cli/redis/redis_reply.hpp"
#include "module/management/key_reader.hpp"

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
std::set<std::string> find_ids(RedisSession& session, const redis::Keys& keys) {
    // A name ends with `{ID}`, or with `{ID}:TABLE`.
    const auto before_id = [](const std::string& name) {
        return name.substr(0, name.rfind('{') + 1);
    };
    const std::vector<std::string> kinds{before_id(keys.history("")),
                                         before_id(keys.quota("", ""))};
    const auto prefix = keys.history("").substr(0, keys.history("").rfind("history:{"));
    std::set<std::string> ids;
    RedisSession::ScanPosition position;
    do {
        for (const auto& key :
             session.scan(position, escape_glob(prefix) + "[hq]*{*", kKeysAtOnce)) {
            const auto kind = std::ranges::find_if(
                kinds, [&](const auto& start) { return key.starts_with(start); });
            if (kind != kinds.end()) {
                const auto id = key.substr(kind->size());
                ids.insert(id.substr(0, id.find('}')));
            }
        }
    } while (!position.is_at_start());
    return ids;
}

std::string line_of(Format format, const std::string& id, const management::DayUsage& day) {
    if (format == Format::kText) {
        // Ids and names of tables have no characters that CSV quotes (RFC 4180).
        return id + "," + day.table + "," + management::format_day(day.day) + "," +
               std::to_string(day.units) + "\n";
    }
    JsonWriter json;
    json.object([&] {
        json.member("id", id);
        json.member("table", day.table);
        json.member("day", management::format_day(day.day));
        json.member("units", day.units);
    });
    return std::move(json).take() + "\n";
}

}  // namespace

void export_usage(RedisSession& session, management::Database& database, const redis::Keys& keys,
                  const std::vector<PlanTable>& tables, Format format, const ExportedDays& days) {
    const auto now = complete(management::KeyReader(database, keys).now());
    const auto yesterday = std::chrono::floor<std::chrono::days>(now) - std::chrono::days(1);
    const auto from = days.from.empty() ? sys_days() : require_day("--from", days.from);
    const auto to = days.to.empty() ? yesterday : require_day("--to", days.to);
    if (!days.from.empty() && to < from) {
        throw Failure(ExitStatus::kUsage, "--from is after --to, which is yesterday by default");
    }
    const auto counting = management::known_tables(tables);
    if (format == Format::kText) {
        require_print("id,table,day,units\n");
    }
    const auto found = find_ids(session, keys);
    for (auto next = found.begin(); next != found.end();) {
        std::vector<std::string> ids;
        for (; next != found.end() && ids.size() < kIdsAtOnce; ++next) {
            ids.push_back(*next);
        }
        const auto histories = complete(management::read_histories(database, keys, ids, counting));
        std::string lines;
        for (std::size_t i = 0; i < ids.size(); ++i) {
            for (const auto& day : histories[i]) {
                if (day.day >= from && day.day <= to) {
                    lines += line_of(format, ids[i], day);
                }
            }
        }
        require_print(lines);
    }
}

}  // namespace tollgate::cli
