#include "module/cli/commands/command_builder.hpp"
#include "module/cli/commands/command_definitions.hpp"
#include "module/cli/commands/commands.hpp"
#include "module/management/groups.hpp"

namespace tollgate::cli {

namespace {

constexpr std::string_view kGroupNote =
    "A plan table with by=group counts the requests of all ids of a group together, with the "
    "plan of the group. `key set ID --group GROUP` puts an id into a group. A group without a "
    "plan has the default plan of the table; if the table has none, requests get 403.";

constexpr std::string_view kResetGroupNote =
    "The windows of the group in all plan tables with by=group begin with their whole limits. "
    "Nodes are asked to return their leases before; a lease that is not returned within 300 ms can "
    "still be used. Its balance and the counts of its ids remain: see key reset.";

/// Defines a command with the argument GROUP.
CLI::App& add_group_command(CLI::App& app, const std::string& name, const std::string& description,
                            CommandLine& line, RedisAction action) {
    CLI::App& command = add_redis_command(app, name, description, line, action);
    command.add_option("GROUP", line.id, "Name of the group")
        ->required()
        ->type_name("GROUP")
        ->check([](const std::string& group) {
            return std::string(management::invalid_group_name(group));
        });
    return command;
}

}  // namespace

void define_group(CLI::App& app, CommandLine& line) {
    CLI::App& group = add_group(app, "group", "Groups of ids, which share a quota");
    CLI::App& set =
        add_group_command(group, "set", "Store or change the record of a group", line, set_group);
    for (const auto& field : redis::record_fields()) {
        if (field.sets_quotas) {
            add_field_option(set, field, line);
        }
    }
    add_force_option(set, line);
    add_note(set, kGroupNote);
    add_group_command(group, "show", "Show the record of a group", line, show_group);
    add_redis_command(group, "list", "List the groups that have a plan", line, list_groups);
    add_group_command(group, "usage", "Show the quota usage of a group", line, show_group_usage);
    add_note(
        add_group_command(group, "reset", "Begin the windows of a group anew", line, reset_group),
        kResetGroupNote);
    add_credit_options(add_group_command(group, "credit", "Add units to the balance of a group",
                                         line, credit_group),
                       line);
    add_group_command(group, "delete", "Remove the record of a group", line, delete_group);
}

}  // namespace tollgate::cli
