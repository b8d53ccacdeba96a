#include <algorithm>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "module/cli/bulk/import_record.hpp"
#include "module/cli/bulk/record_import.hpp"
#include "module/cli/bulk/record_lines.hpp"
#include "module/cli/commands/commands.hpp"
#include "module/cli/commands/operation_failure.hpp"
#include "module/cli/keys/audit_log.hpp"
#include "module/cli/keys/plan_check.hpp"
#include "module/cli/redis/deployment_warnings.hpp"
#include "module/cli/terminal/json_value.hpp"
#include "module/cli/terminal/result_format.hpp"
#include "module/management/groups.hpp"
#include "module/management/key_json.hpp"
#include "module/management/key_reader.hpp"
#include "module/management/plan_rules.hpp"

namespace tollgate::cli {

namespace {

/// A line with a credit.
struct CreditLine {
    const std::string& file;
    std::size_t number;
    management::Credit credit;
};

/// Credits a balance, and counts what became of it.
management::Durability import_credit(RedisSession& session, const std::vector<PlanTable>& tables,
                                     CreditLine line, management::ImportCounts& counts) {
    try {
        const auto credited = management::run_to_end(management::credit_balance(
            caller_of(session), std::move(line.credit), management::known_tables(tables)));
        ++(credited.is_repeated ? counts.unchanged : counts.imported);
        return credited.durability;
    } catch (const management::OperationError& error) {
        require_available(error);
        ++counts.refused;
        print_refusal(line.file, line.number, error.what());
        return management::Durability::kConfirmed;
    }
}

}  // namespace

/// Prints each refused line to standard error and the counts to standard output.
void import_files(RedisSession& session, const CommandLine& line) {
    if (line.declared.is_update) {
        update_declared(session, line);
        return;
    }
    const auto tables = tables_to_check(session).value_or(std::vector<PlanTable>());
    std::set<std::string> groups;
    const std::function<void(const KeyRecord&)> check = [&](const KeyRecord& record) {
        if (!line.force) {
            management::require_usable_plan(tables, record);
        }
        management::refuse_sliding_month(tables, record);
        groups.insert(record.group);
    };
    warn_of_dangers(session);
    require_readable(line.files);
    management::ImportCounts all;
    for (const auto& file : line.files) {
        RecordImport import(
            session, session.keys(), file,
            line.force ? RecordImport::Revoked::kRevived : RecordImport::Revoked::kRefused);
        const auto now = complete(management::KeyReader(session, session.keys()).now());
        std::vector<std::pair<std::size_t, management::Credit>> credits;
        for_each_line(
            file,
            [&](std::size_t number, std::string_view text) {
                if (auto credit = read_import_credit(text)) {
                    credits.emplace_back(number, std::move(*credit));
                    return;
                }
                auto keys = read_import_record(text, now);
                check(keys.keys.front().record);
                import.add({.line = number, .keys = std::move(keys)});
            },
            [&](std::size_t number, const std::string& why) { import.refuse(number, why); });
        import.finish();
        auto counts = import.counts();
        auto durability = import.durability();
        for (auto& [number, credit] : credits) {
            durability =
                std::max(durability,
                         import_credit(session, tables, {file, number, std::move(credit)}, counts));
        }
        warn_unless_kept("the import", durability);
        all.imported += counts.imported;
        all.unchanged += counts.unchanged;
        all.refused += counts.refused;
    }
    warn_about_groups(session, tables, {groups.begin(), groups.end()});
    if (line.json) {
        require_print(json_document({{"records", all.records()},
                                     {"imported", all.imported},
                                     {"unchanged", all.unchanged},
                                     {"refused", all.refused}}));
    } else {
        require_print(std::to_string(all.records()) + " records: " + std::to_string(all.imported) +
                      " imported, " + std::to_string(all.unchanged) + " unchanged, " +
                      std::to_string(all.refused) + " refused\n");
    }
    if (all.refused > 0) {
        throw Failure(ExitStatus::kConflict,
                      std::to_string(all.refused) + " records are refused: see the lines above");
    }
}

void export_groups(RedisSession& session, const CommandLine& /*line*/) {
    constexpr std::size_t kGroupsPerPage = 500;
    std::string last;
    do {
        auto page =
            complete(management::read_groups(session, session.keys(), last, kGroupsPerPage));
        std::string lines;
        for (const auto& group : page.groups) {
            lines += json_line([&](JsonWriter& json) {
                json.member("group", group.id);
                management::write_quota_fields(json, record_of(group));
            });
        }
        require_print(lines);
        last = page.next.value_or("");
    } while (!last.empty());
}

void export_keys(RedisSession& session, const CommandLine& /*line*/) {
    constexpr std::size_t kIdsPerPage = 500;
    management::KeyReader reader(session, session.keys());
    const auto now = complete(reader.now());
    std::optional<management::ListCursor> last;
    do {
        auto page = complete(reader.page(last, kIdsPerPage));
        std::string lines;
        for (const auto& id : complete(reader.with_last_uses(std::move(page.ids)))) {
            lines += json_line([&](JsonWriter& json) { write_key(json, id, now); });
        }
        require_print(lines);
        last = page.next();
    } while (last);
}

}  // namespace tollgate::cli
