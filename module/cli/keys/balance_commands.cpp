#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

#include "module/cli/commands/commands.hpp"
#include "module/cli/commands/operation_failure.hpp"
#include "module/cli/keys/audit_log.hpp"
#include "module/cli/keys/plan_check.hpp"
#include "module/cli/terminal/render.hpp"
#include "module/cli/terminal/result_format.hpp"
#include "module/management/balance.hpp"
#include "module/management/counted_ids.hpp"
#include "module/management/groups.hpp"

namespace tollgate::cli {

namespace {

void credit(RedisSession& session, const CommandLine& line, management::UsageOf of) {
    const auto tables = require_tables(session, of == management::UsageOf::kGroup ? "group" : "id");
    management::Credit credit{.owner = {.id = line.id, .of = of},
                              .table = line.credit.table,
                              .units = line.credit.units,
                              .reference = line.credit.reference,
                              .may_be_subject = line.credit.is_subject};
    const auto credited = complete(management::credit_balance(caller_of(session), std::move(credit),
                                                              management::known_tables(tables)));
    require_print(render_credited(line.format(), line.id, credited));
    warn_unless_kept(line.id, credited.durability);
}

/// A line that `tollgate import` reads.
std::string line_of(std::string_view owner, const management::LeftBalance& balance,
                    const std::string& reference) {
    return json_line([&](JsonWriter& json) {
        json.member(owner, balance.owner);
        json.member("table", balance.table);
        json.member("units", balance.left);
        json.member("reference", reference);
    });
}

void print_balances(RedisSession& session, std::vector<std::string> owners, management::UsageOf of,
                    const management::CountingTables& tables, const std::string& reference) {
    const auto balances =
        complete(management::read_balances(session, session.keys(), std::move(owners), of, tables));
    const bool are_groups = of == management::UsageOf::kGroup;
    std::string lines;
    for (const auto& balance : balances) {
        lines += line_of(are_groups ? "group" : "id", balance, reference);
    }
    require_print(lines);
}

}  // namespace

void export_balances(RedisSession& session, const CommandLine& line) {
    using management::CountedIds;
    constexpr std::size_t kOwnersAtOnce = 500;
    check_options([&] { management::require_valid_reference(line.credit.reference); });
    const auto published = require_tables(session, "id");
    const auto tables = management::known_tables(published);
    CountedIds ids(session, session.keys(), CountedIds::Revoked::kIncluded,
                   CountedIds::Subjects::kIncluded);
    CountedIds::Ids page;
    do {
        page = complete(ids.after(std::move(page.end), kOwnersAtOnce));
        print_balances(session, std::move(page.ids), management::UsageOf::kId, tables,
                       line.credit.reference);
    } while (page.has_more);
    std::string last;
    do {
        auto groups =
            complete(management::read_groups(session, session.keys(), last, kOwnersAtOnce));
        std::vector<std::string> names;
        std::ranges::transform(groups.groups, std::back_inserter(names),
                               &management::GroupRecord::id);
        print_balances(session, std::move(names), management::UsageOf::kGroup, tables,
                       line.credit.reference);
        last = groups.next.value_or("");
    } while (!last.empty());
}

void credit_key(RedisSession& session, const CommandLine& line) {
    credit(session, line, management::UsageOf::kId);
}

void credit_group(RedisSession& session, const CommandLine& line) {
    credit(session, line, management::UsageOf::kGroup);
}

}  // namespace tollgate::cli
