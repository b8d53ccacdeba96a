#include <CLI/CLI.hpp>
#include <array>
#include <utility>

#include "module/cli/commands/command_tree.hpp"
#include "module/cli/commands/commands.hpp"
#include "module/cli/keys/operation_failure.hpp"
#include "module/cli/redis/deployment_warnings.hpp"
#include "module/cli/terminal/text_layout.hpp"
#include "module/cli/usage/node_status.hpp"
#include "module/management/groups.hpp"
#include "module/management/stored_key.hpp"
#include "module/redis/protocol/record_fields.hpp"

namespace tollgate::cli {

namespace {

constexpr std::array kNotes{
    Note{
        "Times",
        "2027-01-01T00:00:00Z, 2027-01-01 (midnight, UTC), or a duration from now: 90d, 12h, 30m."},
    Note{"Configuration",
         "What neither an option nor the environment says is read from ~/.config/tollgate/"
         "tollgate.conf ($XDG_CONFIG_HOME), and otherwise from /etc/tollgate/tollgate.conf: the "
         "directives redis URL; prefix PREFIX; and password_file FILE; in nginx's syntax. The "
         "password file is that of the Redis URL of its file."},
    Note{"Exit status",
         "0 success; 1 Redis, the node, a log or standard output is unreachable or returns an "
         "error; 2 invalid usage; 3 unknown id, or an id without a key; 4 conflict: the id or the "
         "key already exists, an earlier overlap has not ended, the key to rotate has expired, or "
         "another command changed the id; 5 doctor has found problems; 6 the receiver of notify "
         "wants no more notices. Run an interrupted command again to complete it."},
};

constexpr std::string_view kUsageNote =
    "LIMIT and REMAINING are shown if the gateways have published their plan tables in Redis. "
    "Otherwise they come from the record of the key, which applies to `custom` plans, and only "
    "a part of a large Redis is searched for counts. USED includes units that nodes have "
    "leased. PREVIOUS is the previous window, if windows slide. A plan table with `history` counts "
    "a day without a limit for a plan that has none. --history shows the days of these tables, "
    "also of an id that was revoked. The current day includes leased units.";

constexpr std::string_view kBansNote =
    "The bans of all ids are examined, the oldest id first, and then subjects, which have no key.";

constexpr std::string_view kExportUsageNote =
    "A line has the id, the plan table, the day and the units: id,table,day,units. --json prints "
    "JSON lines. Days are those of plan tables with `history`. Ids are in the order of their "
    "creation; then follow those that were revoked, and then subjects, which have no key. "
    "Units of a day may still change shortly after its end, when nodes return leases and report "
    "what they granted while Redis was unreachable.";

constexpr std::string_view kReadNote =
    "On a terminal, the command prompts for one line and does not echo it.";

constexpr std::string_view kRevokeNote =
    "The ban of the id is removed too. The usage of its quotas remains until the windows end, and "
    "its history as long as the plan table keeps it.";

constexpr std::string_view kResetNote =
    "The windows of all plan tables begin with their whole limits. Nodes are asked to return their "
    "leases before; a lease that is not returned within 300 ms can still be used. What was granted "
    "today remains in the history. The ban, the strikes and the counts of values remain.";

constexpr std::string_view kResetGroupNote =
    "The windows of the group in all plan tables with by=group begin with their whole limits. "
    "Nodes are asked to return their leases before; a lease that is not returned within 300 ms can "
    "still be used. The counts of its ids remain: see key reset.";

constexpr std::string_view kReindexNote =
    "All operations keep the index, by which `key list` finds names, groups, scopes and members "
    "of the meta, and the groups of ids, by which usage and bans are found. Rebuild them after "
    "another program has written keys to Redis. Operations may run at the same time.";

constexpr std::string_view kImportFilesNote =
    "A line is an object as `tollgate export keys` prints it, or has `id`, `plan` and `token` or "
    "`digest` (the SHA-256 of the key), and optionally `name`, `limits`, `state`, `created`, "
    "`expires`, `scopes`, `meta`, `from`, `prefix` and `group`. An id that exists is not "
    "changed: if its keys and values are those of the line, it is unchanged, otherwise the line "
    "is refused. After an interruption, run the command again.";

constexpr std::string_view kGroupNote =
    "A plan table with by=group counts the requests of all ids of a group together, with the "
    "plan of the group. `key set ID --group GROUP` puts an id into a group. A group without a "
    "plan has the default plan of the table; if the table has none, requests get 403.";

constexpr std::string_view kRotateNote =
    "An id has at most two keys: another rotation is refused until the overlap ends. 0s ends "
    "all keys of the id before the new key is made, and is allowed during an overlap.";

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

constexpr std::string_view kStatusNote =
    "URL may contain USER:PASSWORD@. Set it in the environment to keep it out of the process "
    "list. --json prints the response of the node unchanged. The counts of a node begin when it "
    "starts.";

constexpr std::string_view kDoctorNote =
    "The command only reads. It prints a line for each problem: the kind of the check, what is "
    "wrong, and what to do. It checks the masters of Redis (persistence, eviction, clock, "
    "permissions of this user), whether gateways use it (plans, nodes), whether gateways apply "
    "the keys of each id (plans, ids, groups), whether an id lists each key (records), and "
    "whether notices are delivered (notices). With --status, it checks the nodes, too (zone, "
    "reachable). With --gateway-user, it asks Redis 7.0 or later what this user may do (ACL "
    "DRYRUN), and names what is missing for the gateways (permissions).";

constexpr std::string_view kNotifyNote =
    "A notice says that the count of a window has reached a level of `notify` of its plan table, "
    "or that a key expires in 30, 7 or 1 days. It is a webhook by the Standard Webhooks "
    "specification, delivered at least once: a repeated one has the same webhook-id. A response "
    "of 2xx accepts it. After another response, or none within 15 seconds, it is tried again "
    "until it is seven days old. 410 ends the command with status 6. The file has one or more "
    "secrets, each whsec_ and 24 to 64 bytes in base64: openssl rand -base64 32. The command "
    "runs until it is killed, which loses no notice. Several may run at the same time.";

constexpr std::string_view kSimulateNote =
    "The command connects to nothing. It decides each request as the gateway would have with these "
    "plan tables, by all windows of all tables. Without --location, all tables decide every "
    "request. Lines are JSON documents as of conf/log-json.conf, or words as in nginx's format "
    "`combined`. A field is a member of the document; otherwise NAME for NAME=value, the number of "
    "a word, remote_addr or remote_user. A request belongs to the time at which it began: the time "
    "of its line without its duration. Requests that got 429 are tried again. Requests without an "
    "id (401) and those with 403 are not counted. The simulation starts with no counts. It has no "
    "bans, no leases and no budgets of addresses, and clients do not behave otherwise because of a "
    "refusal. Lines that cannot be read are counted and named. Lines may be out of order by half "
    "a million lines; a line that is later is counted in its own window if that is still known.";

constexpr std::size_t kHelpWidth = 100;

/// All notes as the help prints them after the options.
std::string notes_text() {
    std::string text;
    for (const auto& note : kNotes) {
        text += wrap_text(std::string(note.title) + ": " + std::string(note.text), kHelpWidth);
    }
    return text;
}

/// Prints `note` in the help of the command, before the notes about all commands.
void add_note(CLI::App& command, std::string_view note) {
    command.footer(wrap_text(note, kHelpWidth) + "\n" + command.get_footer());
}

/// Defines an option without a default. An empty text is a value.
CLI::Option* add_optional(CLI::App& app, const std::string& name, std::optional<std::string>& value,
                          const std::string& description) {
    return app.add_option_function<std::string>(
        name, [&value](const std::string& text) { value = text; }, description);
}

/// Defines an option that may be repeated.
CLI::Option* add_repeatable(CLI::App& app, const std::string& name,
                            std::vector<std::string>& values, const std::string& description) {
    return app.add_option(name, values, description)->allow_extra_args(false);
}

/// Defines a command that has commands.
CLI::App& add_group(CLI::App& app, const std::string& name, const std::string& description) {
    return *app.add_subcommand(name, description)->require_subcommand(1)->fallthrough();
}

/// Defines a command that does not connect to Redis.
CLI::App& add_command(CLI::App& app, const std::string& name, const std::string& description,
                      CommandLine& line, std::function<void()> action) {
    CLI::App* command = app.add_subcommand(name, description);
    command->fallthrough();
    command->final_callback([&line, action = std::move(action)] { line.action = action; });
    return *command;
}

constexpr const char* kDefaultRedis = "redis://127.0.0.1:6379/0";

/// What the command line and the environment say, and otherwise the configuration files. They are
/// not read if they are not needed.
Configuration configuration_of(const CommandLine& line) {
    const auto& given = line.configuration;
    return given.redis && given.prefix ? given : merged(given, read_configuration());
}

RedisSession connect(const Configuration& configuration, bool asks_password) {
    auto url = parse_redis_url(configuration.redis.value_or(kDefaultRedis));
    if (configuration.password_file && !asks_password) {
        if (!url.login.password.empty() || !url.login.password_file.empty()) {
            throw Failure(ExitStatus::kUsage,
                          "password_file of the configuration and the password of the Redis URL "
                          "exclude each other");
        }
        url.login.password_file = *configuration.password_file;
    }
    read_passwords(url, asks_password);
    return {url, configuration.prefix.value_or("")};
}

/// What a command that connects to Redis does, see commands.hpp.
using RedisAction = void (*)(RedisSession&, const CommandLine&);

/// Defines a command that connects to Redis. `has_id`: it has the argument ID.
CLI::App& add_redis_command(CLI::App& app, const std::string& name, const std::string& description,
                            CommandLine& line, RedisAction action, bool has_id = false) {
    CLI::App& command = add_command(app, name, description, line, [&line, action, has_id] {
        auto session = connect(configuration_of(line), line.ask_password);
        warn_of_prefix(session);
        if (has_id) {
            check_id(line.id);
        }
        action(session, line);
    });
    if (has_id) {
        command.add_option("ID", line.id, "Id of the key")->required()->type_name("ID");
    }
    return command;
}

CLI::App& add_id_command(CLI::App& app, const std::string& name, const std::string& description,
                         CommandLine& line, RedisAction action) {
    return add_redis_command(app, name, description, line, action, true);
}

void add_force_option(CLI::App& command, CommandLine& line) {
    command.add_flag("--force", line.force,
                     "Accept a plan that no plan table has, and a `custom` plan without limits");
}

/// Defines the option of a field of a record.
CLI::Option* add_field_option(CLI::App& command, const redis::RecordField& field,
                              CommandLine& line) {
    const std::string name(field.option);
    const std::string description(field.option_text);
    auto& values = line.key[field.name];
    CLI::Option* const option =
        field.is_list()
            ? add_repeatable(command, name, values, description)
            : command.add_option_function<std::string>(
                  name, [&values](const std::string& text) { values = {text}; }, description);
    if (field.name == redis::record_field::kPlan) {
        option->type_name("PLAN");
    }
    return option;
}

/// Defines the options that describe a key. A new key needs those that each key has.
void add_key_options(CLI::App& command, CommandLine& line, bool is_new) {
    for (const auto& field : redis::record_fields()) {
        if (field.option.empty()) {
            continue;
        }
        add_field_option(command, field, line)->required(is_new && field.is_required);
    }
    add_force_option(command, line);
    if (is_new) {
        add_optional(command, "--id", line.new_id, "Id of the key; without it an id is generated");
    }
}

void add_key_commands(CLI::App& app, CommandLine& line) {
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

void add_group_commands(CLI::App& app, CommandLine& line) {
    CLI::App& group = add_group(app, "group", "Groups of ids, which share a quota");
    CLI::App& set = add_group_command(
        group, "set", "Store or change the plan and the limits of a group", line, set_group);
    for (const auto& field : redis::record_fields()) {
        if (management::is_field_of_group(field)) {
            add_field_option(set, field, line);
        }
    }
    add_force_option(set, line);
    add_note(set, kGroupNote);
    add_group_command(group, "show", "Show the plan and the limits of a group", line, show_group);
    add_redis_command(group, "list", "List the groups that have a plan", line, list_groups);
    add_note(
        add_group_command(group, "reset", "Begin the windows of a group anew", line, reset_group),
        kResetGroupNote);
    add_group_command(group, "delete", "Remove the plan and the limits of a group", line,
                      delete_group);
}

void add_other_commands(CLI::App& app, CommandLine& line) {
    CLI::App& ban = add_group(app, "ban", "Bans of keys that repeatedly exceed their quota");
    add_note(add_redis_command(ban, "list", "List the ids that are banned now", line, list_bans),
             kBansNote);
    add_id_command(ban, "show", "Show the strikes and the ban of a key", line, show_ban);
    add_id_command(ban, "lift", "Remove the ban and the strikes of a key", line, lift_ban);
    CLI::App& import = add_redis_command(
        app, "import", "Import ids and their keys from files of JSON lines", line, import_files);
    import.add_option("FILE", line.files, "File of JSON lines; - is standard input")->required();
    add_force_option(import, line);
    add_note(import, kImportFilesNote);
    CLI::App& exported = add_group(app, "export", "Export data");
    add_redis_command(exported, "keys", "Print all ids and their keys as JSON lines", line,
                      export_keys);
    CLI::App& days =
        add_redis_command(exported, "usage", "Print what each id was granted in each day, as CSV",
                          line, export_usage);
    days.add_option("--from", line.from, "First day (UTC); by default the earliest");
    days.add_option("--to", line.to, "Last day (UTC); by default yesterday");
    add_note(days, kExportUsageNote);
    CLI::App& audit =
        add_redis_command(app, "audit", "Show who did what to which id", line, print_audit);
    audit.add_option("ID", line.id, "Id of the key; without it, all entries are shown")
        ->type_name("ID");
    audit.add_flag("--follow", line.follow, "Wait for further entries");
    CLI::App& usage =
        add_id_command(app, "usage", "Show the quota usage of a key", line, show_usage);
    usage.add_flag("--history", line.history, "Show what the id was granted in each day (UTC)");
    add_note(usage, kUsageNote);
}

/// Prints the status of a node, and warns about its Redis, if it is configured: the default address
/// may be another one.
void show_status(const CommandLine& line) {
    print_node_status(line.url, line.format());
    try {
        const auto configuration = configuration_of(line);
        if (configuration.redis) {
            auto session = connect(configuration, line.ask_password);
            warn_of_dangers(session);
        }
    } catch (const Failure& failure) {
        warn(std::string("Redis cannot be checked: ") + failure.what());
    }
}

void add_notify_command(CLI::App& app, CommandLine& line) {
    CLI::App& command =
        add_redis_command(app, "notify", "Deliver notices as webhooks", line, notify);
    command
        .add_option(
            "--url", line.notify.url,
            "URL of the receiver: https://HOST[:PORT]/PATH, http://... or unix:SOCKET:/PATH")
        ->required()
        ->envname("TOLLGATE_NOTIFY_URL");
    command.add_option("--secret-file", line.notify.secret_file, "File with the secrets")
        ->required()
        ->type_name("FILE")
        ->envname("TOLLGATE_NOTIFY_SECRET_FILE");
    add_note(command, kNotifyNote);
}

void add_watching_commands(CLI::App& app, CommandLine& line) {
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

    CLI::App& doctor =
        add_redis_command(app, "doctor", "Check Redis, the keys and the nodes", line, examine);
    add_repeatable(doctor, "--status", line.statuses,
                   "URL of the tollgate_status of a node, as for status; may be repeated");
    doctor.add_option("--gateway-user", line.gateway_user,
                      "User of the gateways in Redis, whose commands are checked");
    add_note(doctor, kDoctorNote);

    CLI::App& status =
        add_command(app, "status", "Show the counts of a node, from its tollgate_status", line,
                    [&] { show_status(line); });
    status.add_option("URL", line.url, "http://HOST[:PORT]/PATH, https://... or unix:SOCKET:/PATH")
        ->required()
        ->envname("TOLLGATE_STATUS");
    add_note(status, kStatusNote);
}

void add_simulate_command(CLI::App& app, CommandLine& line) {
    SimulateOptions& options = line.simulate;
    CLI::App& command = add_command(app, "simulate",
                                    "Show which ids of access logs other limits would have refused",
                                    line, [&] { simulate(options, line.format()); });
    command
        .add_option("LOG", options.logs,
                    "Access logs, also compressed by gzip; - for standard input")
        ->required()
        ->type_name("FILE");
    add_repeatable(
        command, "--plans", options.plans,
        "nginx.conf, or a file with tollgate_plans blocks or with the directives of one; may be "
        "repeated")
        ->required()
        ->type_name("FILE");
    add_repeatable(
        command, "--location", options.locations,
        "PREFIX=TABLE[,TABLE]... or PREFIX=off: the tables of the URIs with this prefix; may be "
        "repeated");
    command.add_option("--plan", options.keys.plan, "Plan of requests whose line has none");
    command.add_option("--limits", options.keys.limits,
                       "Limits for `custom` plans, such as \"5000r/m 1000000r/d\"");
    command.add_option("--id-field", options.fields.id,
                       "Field with the id of the client, if not key_id or key");
    command.add_option("--plan-field", options.fields.plan, "Field with the plan, if not plan");
    command.add_option("--cost-field", options.fields.cost,
                       "Field with the cost of the request, if not cost");
    command.add_option("--time-field", options.fields.time,
                       "Field with the time, if not msec or time");
    add_note(command, kSimulateNote);
}

void add_shell_commands(CLI::App& app, CommandLine& line) {
    add_command(app, "completion", "Print the completion script for a shell", line,
                [&] { require_print(completion(app, line.shell)); })
        .add_option("SHELL", line.shell, "Shell that reads the script")
        ->required()
        ->check(CLI::IsMember({"bash", "zsh"}));
    CLI::App& complete = add_redis_command(
        app, "complete", "Print the plans or the ids that begin with WORD, one on a line", line,
        list_words);
    complete.group("");
    complete.add_option("KIND", line.listed)->required()->check(CLI::IsMember({"plans", "ids"}));
    complete.add_option("WORD", line.word)->required();
    add_command(app, "man", "Print the manual page; view it with man -l -", line,
                [&] { require_print(man_page(app)); });
}

void add_global_options(CLI::App& app, CommandLine& line) {
    add_optional(app, "--redis", line.configuration.redis,
                 "redis://[USER:PASSWORD@]HOST[:PORT][/DB], "
                 "redis+sentinel://[USER:PASSWORD@]HOST[:PORT],.../MASTER[/DB], "
                 "redis+cluster://[USER:PASSWORD@]HOST[:PORT],..., the same with rediss (TLS), "
                 "unix:PATH[?db=DB] or unix://[USER:PASSWORD@]PATH[?db=DB]")
        ->envname("TOLLGATE_REDIS")
        ->default_str(kDefaultRedis);
    app.add_flag("--askpass", line.ask_password,
                 "Prompt for the password of Redis on the terminal");
    add_optional(app, "--prefix", line.configuration.prefix,
                 "Prefix of all keys in Redis, as in tollgate_redis")
        ->envname("TOLLGATE_PREFIX");
    app.add_flag("--json", line.json, "Print one JSON document");
    app.set_version_flag("--version", TOLLGATE_VERSION);
    app.footer(notes_text());
    app.require_subcommand(1);
}

}  // namespace

std::span<const Note> notes() {
    return kNotes;
}

void define_commands(CLI::App& app, CommandLine& line) {
    app.name("tollgate");
    app.description("Manages the API keys of a Tollgate gateway in Redis and shows their usage.");
    add_global_options(app, line);
    add_key_commands(app, line);
    add_group_commands(app, line);
    add_other_commands(app, line);
    add_notify_command(app, line);
    add_watching_commands(app, line);
    add_simulate_command(app, line);
    add_shell_commands(app, line);
}

}  // namespace tollgate::cli
