#include "module/cli/commands/command_builder.hpp"
#include "module/cli/commands/command_definitions.hpp"
#include "module/cli/commands/commands.hpp"
#include "module/management/billed_usage.hpp"

namespace tollgate::cli {

namespace {

constexpr std::string_view kImportFilesNote =
    "A line is an object as `tollgate export keys` prints it, or has `id`, `plan` and `token` or "
    "`digest` (the SHA-256 of the key), and optionally `name`, `limits`, `billing_day`, `state`, "
    "`created`, `expires`, `scopes`, `meta`, `from`, `prefix` and `group`. An id that exists is "
    "not changed: if its keys and values are those of the line, it is unchanged, otherwise the "
    "line is refused. A line of `tollgate export balances` credits a balance. After an "
    "interruption, run the command again. With --update, an id that exists gets the values of its "
    "line: those that the line does not have are removed, and another key replaces the current one "
    "as `key rotate` does. A line with `group` and without `id` declares a group: its `plan`, "
    "`limits` and `billing_day`. Nothing else is changed.";

constexpr std::string_view kExportBalancesNote =
    "A line is a credit: `tollgate import` adds its units to the balance of the same plan table, "
    "once "
    "for the reference. Units that nodes have leased are not among them: stop the gateways, or "
    "wait "
    "until the ids have no requests. A balance of an id without a key is exported if the id has a "
    "history or a ban.";

constexpr std::string_view kExportUsageNote =
    "A line has the id, the plan table, the day and the units: id,table,day,units; with "
    "--by id,table,first,last,units,limit,over. --json prints JSON lines. Days are those of plan "
    "tables with `history`. Ids, also those that were revoked, are in the order of their first "
    "creation; then follow subjects, which have no key. Units of a day may still change shortly "
    "after its end, when nodes return leases and report what they granted while Redis was "
    "unreachable.";

}  // namespace

void define_import(CLI::App& app, CommandLine& line) {
    CLI::App& import = add_redis_command(
        app, "import", "Import ids and their keys from files of JSON lines", line, import_files);
    import.add_option("FILE", line.files, "File of JSON lines; - is standard input")->required();
    CLI::Option* update = import.add_flag("--update", line.declared.is_update,
                                          "Make what is stored equal to what the files declare");
    import
        .add_flag("--dry-run", line.declared.is_dry_run,
                  "Print the differences only; the exit status is 5 if there are any")
        ->needs(update);
    import
        .add_option("--owner", line.declared.owner,
                    "Who declares the ids: stored with each as owner in its meta")
        ->needs(update);
    import
        .add_flag("--prune", line.declared.is_prune,
                  "Revoke the ids of --owner that the files do not declare")
        ->needs(update);
    import
        .add_option("--overlap", line.overlap,
                    "Time for which the old key remains valid if a file declares another one")
        ->needs(update)
        ->capture_default_str();
    add_import_force_option(import, line);
    add_note(import, kImportFilesNote);
}

void define_export(CLI::App& app, CommandLine& line) {
    CLI::App& exported = add_group(app, "export", "Export data");
    add_redis_command(exported, "keys", "Print all ids and their keys as JSON lines", line,
                      export_keys);
    add_redis_command(exported, "groups", "Print all groups as JSON lines", line, export_groups);
    CLI::App& balances =
        add_redis_command(exported, "balances", "Print what is left of all balances as JSON lines",
                          line, export_balances);
    balances
        .add_option("--ref", line.credit.reference,
                    "Reference of the credits that an import of the lines makes")
        ->required();
    add_note(balances, kExportBalancesNote);
    CLI::App& days =
        add_redis_command(exported, "usage", "Print what each id was granted in each day, as CSV",
                          line, export_usage);
    days.add_option("--from", line.from, "First day (UTC); by default the earliest");
    days.add_option("--to", line.to, "Last day (UTC); by default yesterday");
    days.add_option("--by", line.billed_by,
                    "What an invoice counts: the days or the months that end in these days, with "
                    "the units beyond the limit")
        ->check(CLI::IsMember(
            std::vector<std::string>(management::kBilledBy.begin(), management::kBilledBy.end())));
    add_note(days, kExportUsageNote);
}

}  // namespace tollgate::cli
