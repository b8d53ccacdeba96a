#include <algorithm>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "module/cli/commands/commands.hpp"
#include "module/cli/commands/operation_failure.hpp"
#include "module/cli/keys/audit_log.hpp"
#include "module/cli/keys/key_options.hpp"
#include "module/cli/keys/plan_check.hpp"
#include "module/cli/terminal/render.hpp"
#include "module/management/group_usage.hpp"
#include "module/management/groups.hpp"
#include "module/management/key_reader.hpp"
#include "module/management/operations.hpp"
#include "module/management/plan_rules.hpp"

namespace tollgate::cli {

void set_group(RedisSession& session, const CommandLine& line) {
    const auto now = complete(management::KeyReader(session, session.keys()).now());
    const auto changes = read_key_options(line, now);
    if (changes.empty()) {
        throw Failure(ExitStatus::kUsage, "nothing to set: give --plan or --limits");
    }
    const auto tables = tables_to_check(session);
    KeyRecord changed;
    const auto check = [&](const KeyRecord& record) {
        changed = record;
        management::check_changed_plan(tables.value_or(std::vector<PlanTable>()), record, changes,
                                       management::Forced(line.force), management::PlanOf::kGroup);
    };
    const auto durability =
        complete(management::change_group(caller_of(session), line.id, changes, check));
    show_group(session, line);
    warn_unless_kept(line.id, durability);
    if (tables) {
        warn_about(*tables, changed, management::PlanOf::kGroup);
    }
}

void show_group(RedisSession& session, const CommandLine& line) {
    const auto group = complete(management::read_group(session, session.keys(), line.id));
    require_print(render_group(line.format(), group));
}

void show_group_usage(RedisSession& session, const CommandLine& line) {
    const auto tables = require_tables(session, "group");
    const auto usage = complete(management::read_group_usage(
        session, session.keys(), line.id, management::known_tables(tables).known));
    require_print(render_group_usage(line.format(), usage));
}

void list_groups(RedisSession& session, const CommandLine& line) {
    constexpr std::size_t kGroupsPerPage = 500;
    std::vector<management::GroupRecord> groups;
    std::string last;
    do {
        auto page =
            complete(management::read_groups(session, session.keys(), last, kGroupsPerPage));
        std::ranges::move(page.groups, std::back_inserter(groups));
        last = page.next.value_or("");
    } while (!last.empty());
    require_print(render_groups(line.format(), groups));
}

void delete_group(RedisSession& session, const CommandLine& line) {
    warn_unless_kept(line.id, complete(management::delete_group(caller_of(session), line.id)));
}

void reset_group(RedisSession& session, const CommandLine& line) {
    const auto tables = require_tables(session, "group");
    const auto counting = management::known_tables(tables);
    complete(management::require_known_group(session, session.keys(), line.id, counting));
    management::UsageOwner owner{.id = line.id, .of = management::UsageOf::kGroup};
    warn_unless_kept(line.id, complete(management::reset_usage_of(caller_of(session),
                                                                  std::move(owner), counting)));
}

}  // namespace tollgate::cli
