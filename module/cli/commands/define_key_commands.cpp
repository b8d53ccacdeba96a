#include "module/cli/commands/command_builder.hpp"
#include "module/cli/commands/command_definitions.hpp"
#include "module/cli/commands/commands.hpp"
#include "module/management/stored_key.hpp"

namespace tollgate::cli {

namespace {

constexpr std::string_view kReadNote =
    "On a terminal, the command prompts for one line and does not echo it.";

constexpr std::string_view kResetNote =
    "The windows of all plan tables begin with their whole limits. Nodes are asked to return their "
    "leases before; a lease that is not returned within 300 ms can still be used. What was granted "
    "today remains in the history. The balance, the ban, the strikes and the counts of values "
    "remain.";

constexpr std::string_view kRevokeNote =
    "The ban of the id is removed too. The usage of its quotas remains until the windows end, and "
    "its history as long as the plan table keeps it.";

constexpr std::string_view kReindexNote =
    "All operations keep the index, by which `key list` finds names, groups, scopes and members "
    "of the meta, and the groups of ids, by which usage and bans are found. Rebuild them after "
    "another program has written keys to Redis. Operations may run at the same time.";

constexpr std::string_view kRotateNote =
    "An id has at most two keys: another rotation is refused until the overlap ends. 0s ends "
    "all keys of the id before the new key is made, and is allowed during an overlap.";

/// Defines the options that describe a key. A new key needs those that each key has.
void add_key_options(CLI::App& command, CommandLine& line, bool is_new) {
    for (const auto& field : redis::record_fields()) {
        if (field.option.empty()) {
            continue;
        }
        add_field_option(command, field, line)->required(is_new && field.is_required);
    }
    if (command.get_name() == "import") {
        add_import_force_option(command, line);
    } else {
        add_force_option(command, line);
    }
    if (is_new) {
        add_optional(command, "--id", line.new_id, "Id of the key; without it an id is generated");
    }
}

}  // namespace

void define_key(CLI::App& app, CommandLine& line) {
    CLI::App& key = add_group(app, "key", "API keys");
    add_key_options(
        add_redis_command(key, "issue", "Make a key and print it; it is shown only once", line,
                          issue_key),
        line, true);
    CLI::App& import =
        add_redis_command(key, "import", "Store an existing key, which is read from standard input",
                          line, import_key);
    add_key_options(import, line, true);
    add_note(import, kReadNote);
    CLI::App& list = add_redis_command(key, "list", "List keys, the oldest first", line, list_keys);
    add_optional(list, "--plan", line.list.plan, "Only keys with this plan")->type_name("PLAN");
    add_optional(list, "--state", line.list.state, "Only keys in this state")
        ->check(CLI::IsMember(
            std::vector<std::string>(management::kStates.begin(), management::kStates.end())));
    add_optional(list, "--expires-before", line.list.expires_before,
                 "Only keys that expire before this time");
    add_optional(list, "--name", line.list.name,
                 "Only keys whose name begins with this, or matches a pattern such as \"*acme*\"; "
                 "in the order of the names, whose capital letters do not count");
    add_optional(list, "--scope", line.list.scope, "Only keys with this scope");
    add_optional(list, "--meta", line.list.meta,
                 "Only keys whose meta has this member: NAME=VALUE");
    add_optional(list, "--group", line.list.group, "Only keys of this group")->type_name("GROUP");
    add_note(
        add_redis_command(key, "find", "Show whose a key is; the key is read from standard input",
                          line, find_key),
        kReadNote);
    add_id_command(key, "show", "Show one key", line, show_key);
    add_key_options(add_id_command(key, "set", "Change a key", line, set_key), line, false);
    add_id_command(key, "disable", "Disable a key until it is enabled again", line, disable_key);
    add_id_command(key, "enable", "Enable a disabled key", line, enable_key);
    add_note(add_id_command(key, "reset", "Begin the windows of an id anew", line, reset_usage),
             kResetNote);
    CLI::App& credit =
        add_id_command(key, "credit", "Add units to the balance of an id", line, credit_key);
    add_credit_options(credit, line);
    credit.add_flag("--subject", line.credit.is_subject,
                    "The id may be one without a key that was never counted");
    CLI::App& revoke =
        add_id_command(key, "revoke", "Remove an id and its keys permanently", line, revoke_key);
    revoke.add_flag("--yes", line.confirmed, "Do not ask; required without a terminal");
    add_note(revoke, kRevokeNote);
    add_note(add_redis_command(key, "reindex", "Rebuild the index of keys and the groups of ids",
                               line, reindex_keys),
             kReindexNote);
    CLI::App& rotate = add_id_command(
        key, "rotate", "Make a new key for an id and print it; it is shown only once", line,
        rotate_key);
    rotate.add_option("--overlap", line.overlap, "Time for which the old key remains valid")
        ->capture_default_str();
    add_note(rotate, kRotateNote);
}

}  // namespace tollgate::cli
