#include <utility>

#include "module/cli/commands/commands.hpp"
#include "module/cli/commands/operation_failure.hpp"
#include "module/cli/keys/audit_log.hpp"
#include "module/cli/keys/plan_check.hpp"
#include "module/cli/terminal/render.hpp"
#include "module/management/balance.hpp"

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

}  // namespace

void credit_key(RedisSession& session, const CommandLine& line) {
    credit(session, line, management::UsageOf::kId);
}

void credit_group(RedisSession& session, const CommandLine& line) {
    credit(session, line, management::UsageOf::kGroup);
}

}  // namespace tollgate::cli
