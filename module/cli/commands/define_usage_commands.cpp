#include "module/cli/commands/command_builder.hpp"
#include "module/cli/commands/command_definitions.hpp"
#include "module/cli/commands/commands.hpp"

namespace tollgate::cli {

namespace {

constexpr std::string_view kBansNote =
    "The bans of all ids are examined, the oldest id first, and then subjects, which have no key.";

constexpr std::string_view kUsageNote =
    "LIMIT and REMAINING are shown if the gateways have published their plan tables in Redis. "
    "Otherwise they come from the record of the key, which applies to `custom` plans, and only "
    "a part of a large Redis is searched for counts. USED includes units that nodes have "
    "leased. PREVIOUS is the previous window, if windows slide. A plan table with `history` counts "
    "a day without a limit for a plan that has none. --history shows the days of these tables, "
    "also of an id that was revoked. The current day includes leased units.";

constexpr std::string_view kTopNote =
    "GRANTED/S is the number of units of quota per second, for an id in a plan table. A + marks "
    "a lower bound: a window ended between the readings. Leased units count when a node leases "
    "them. `unlimited` plans without a history, and costs of 0, are not counted. REFUSED/S is "
    "the number of strikes per second, on the line of the busiest table of the id. Redis holds "
    "strikes only if a plan table has a `ban` policy, and not during a ban: banned ids that have "
    "sent a request within two minutes come first, with the minute of the request. Without this "
    "policy, `tollgate status` and the access log show refusals. The command writes nothing to "
    "Redis. If there are more ids than --budget, it watches the busiest ids found so far while "
    "SCAN continues: 1,000,000 ids, which have about 3,000,000 keys, take 150 readings. On a "
    "terminal, q ends the command.";

}  // namespace

void define_ban(CLI::App& app, CommandLine& line) {
    CLI::App& ban = add_group(app, "ban", "Bans of keys that repeatedly exceed their quota");
    add_note(add_redis_command(ban, "list", "List the ids that are banned now", line, list_bans),
             kBansNote);
    add_id_command(ban, "show", "Show the strikes and the ban of a key", line, show_ban);
    add_id_command(ban, "lift", "Remove the ban and the strikes of a key", line, lift_ban);
}

void define_audit(CLI::App& app, CommandLine& line) {
    CLI::App& audit =
        add_redis_command(app, "audit", "Show who did what to which id", line, print_audit);
    audit.add_option("ID", line.id, "Id of the key; without it, all entries are shown")
        ->type_name("ID");
    audit.add_flag("--follow", line.follow, "Wait for further entries");
}

void define_usage(CLI::App& app, CommandLine& line) {
    CLI::App& usage =
        add_id_command(app, "usage", "Show the quota usage of a key", line, show_usage);
    usage.add_flag("--history", line.history, "Show what the id was granted in each day (UTC)");
    add_note(usage, kUsageNote);
}

void define_top(CLI::App& app, CommandLine& line) {
    TopOptions& top = line.top;
    CLI::App& command = add_redis_command(
        app, "top", "Show the busiest ids by requests and refusals, refreshed", line, watch_top);
    command.add_option("--interval", top.interval, "Time between two readings, 100ms to 1h")
        ->capture_default_str();
    command.add_option("--count", top.count, "Number of refreshes; 0: until interrupted")
        ->check(CLI::Range(0, 1'000'000'000))
        ->capture_default_str();
    command.add_option("--limit", top.limit, "Maximum number of lines")
        ->check(CLI::Range(1, 1'000'000))
        ->capture_default_str();
    command.add_option("--sort", top.sort, "Sort order of the lines, descending")
        ->check(CLI::IsMember({"requests", "refusals"}))
        ->capture_default_str();
    command
        .add_option("--budget", top.budget,
                    "Maximum number of ids to watch; each reading scans four times as many keys")
        ->check(CLI::Range(10, 1'000'000))
        ->capture_default_str();
    add_note(command, kTopNote);
}

}  // namespace tollgate::cli
