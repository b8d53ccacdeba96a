#include "module/cli/commands/command_definition.hpp"

#include <CLI/CLI.hpp>
#include <array>
#include <utility>

#include "module/cli/commands/commands.hpp"
#include "module/cli/commands/completion.hpp"
#include "module/cli/commands/man_page.hpp"
#include "module/cli/redis/redis_session.hpp"
#include "module/cli/redis/redis_url.hpp"
#include "module/cli/terminal/output.hpp"
#include "module/cli/terminal/text_layout.hpp"
#include "module/cli/usage/node_status.hpp"

namespace tollgate::cli {

namespace {

constexpr std::array kNotes{
    Note{"Times",
         "2027-01-01T00:00:00Z, 2027-01-01 (midnight, UTC), or from now on: 90d, 12h, 30m."},
    Note{"Exit status",
         "0 done; 1 Redis or the node can't be reached or answers an error; 2 wrong usage; 3 "
         "unknown id; 4 the id or the key exists already, an earlier overlap has not ended, or "
         "another command changed the id meanwhile. A command that was interrupted can be run "
         "again: it does the rest."},
};

constexpr std::string_view kUsageNote =
    "LIMIT and REMAINING are known where the gateways have published their plan tables in Redis. "
    "Elsewhere they are those of the key's own record, which hold where its plan is `custom`, and "
    "counts are searched in a part of a large Redis. USED holds what nodes have leased ahead; "
    "PREVIOUS is the window before, where windows slide.";

constexpr std::string_view kImportNote = "From a terminal one line is read, which is not shown.";

constexpr std::string_view kRevokeNote =
    "The ban of the id is removed too. What it has used of its quotas stays until the windows end.";

constexpr std::string_view kRotateNote =
    "An id has two keys at most: until an overlap ends, another rotation is refused. 0s ends all "
    "keys of the id before the new one is made, and is never refused for an overlap.";

constexpr std::string_view kTopNote =
    "GRANTED/S are units of quota a second, counted for an id in a table; a + means at least so "
    "many, since a window ended meanwhile. What a node leases ahead counts when it is leased. "
    "Plans that are `unlimited` and costs of 0 leave no trace. REFUSED/S are strikes, which Redis "
    "holds only where a plan table has a `ban` policy, and not while a ban lasts; they stand on "
    "the "
    "line of the id's busiest table. Without such a policy Redis knows of no refusals by id: "
    "`tollgate status` and the access log do. Nothing is written. With more ids than --budget the "
    "busiest that were found so far are watched while SCAN goes through the rest, bit by bit: of "
    "1,000,000 ids, which are some 3,000,000 keys, in 150 readings. On a terminal q ends it.";

constexpr std::string_view kStatusNote =
    "URL may hold USER:PASSWORD@; given in the environment it is in no list of processes. --json "
    "prints what the node answers, as it is. Counts are the node's own, since it started.";

constexpr std::size_t kHelpWidth = 100;

/// All notes as the help shows them after the options.
std::string notes_text() {
    std::string text;
    for (const auto& note : kNotes) {
        text += wrap_text(std::string(note.title) + ": " + std::string(note.text), kHelpWidth);
    }
    return text;
}

/// Gives a command a note of its own, before those that hold for all.
void add_note(CLI::App& command, std::string_view note) {
    command.footer(wrap_text(note, kHelpWidth) + "\n" + command.get_footer());
}

using OptionalText = std::optional<std::string>;

/// An option that may be left out, and may be given as an empty text.
CLI::Option* add_optional(CLI::App& app, const std::string& name, OptionalText& value,
                          const std::string& description) {
    return app.add_option_function<std::string>(
        name, [&value](const std::string& text) { value = text; }, description);
}

/// A command that needs no Redis.
CLI::App& add_offline_command(CLI::App& app, const std::string& name,
                              const std::string& description, CommandLine& line,
                              std::function<void()> action) {
    CLI::App* command = app.add_subcommand(name, description);
    command->fallthrough();
    command->final_callback([&line, action = std::move(action)] { line.action = action; });
    return *command;
}

CLI::App& add_command(CLI::App& app, const std::string& name, const std::string& description,
                      CommandLine& line, std::function<void(Commands&)> action) {
    return add_offline_command(app, name, description, line, [&line, action = std::move(action)] {
        RedisSession session(parse_redis_url(line.redis));
        Commands commands(session, line.prefix, line.format());
        action(commands);
    });
}

CLI::App& add_id_command(CLI::App& app, const std::string& name, const std::string& description,
                         CommandLine& line, std::function<void(Commands&)> action) {
    CLI::App& command = add_command(app, name, description, line, std::move(action));
    command.add_option("ID", line.id, "The key's id")->required();
    return command;
}

CLI::Option* add_key_options(CLI::App& command, KeyOptions& key) {
    auto* plan =
        add_optional(command, "--plan", key.plan, "The plan, as the gateway's tables name it");
    add_optional(command, "--name", key.name, "Your own word for the key");
    add_optional(command, "--limits", key.limits,
                 "For plans that are `custom`: \"5000r/m 1000000r/d\", or none");
    add_optional(command, "--expires", key.expires, "When the key ends, or never");
    return plan;
}

void add_key_commands(CLI::App& app, CommandLine& line) {
    CLI::App& key = *app.add_subcommand("key", "API keys");
    key.require_subcommand(1)->fallthrough();
    CLI::App& issue =
        add_command(key, "issue", "Make a key and print it, this once", line,
                    [&](Commands& commands) { commands.issue(line.key, line.new_id); });
    CLI::App& import = add_command(
        key, "import", "Store a key that exists elsewhere: it is read from standard input", line,
        [&](Commands& commands) { commands.import(line.key, line.new_id); });
    add_note(import, kImportNote);
    for (CLI::App* command : {&issue, &import}) {
        add_key_options(*command, line.key)->required();
        add_optional(*command, "--id", line.new_id, "The id; made up where it isn't given");
    }
    add_command(key, "list", "All keys, the oldest first", line,
                [](Commands& commands) { commands.list(); });
    add_id_command(key, "show", "One key", line,
                   [&](Commands& commands) { commands.show(line.id); });
    CLI::App& set = add_id_command(key, "set", "Change a key", line,
                                   [&](Commands& commands) { commands.set(line.id, line.key); });
    add_key_options(set, line.key);
    add_id_command(key, "disable", "Refuse a key until it is enabled", line,
                   [&](Commands& commands) { commands.set_active(line.id, false); });
    add_id_command(key, "enable", "Accept a key that was disabled", line,
                   [&](Commands& commands) { commands.set_active(line.id, true); });
    add_note(add_id_command(key, "revoke", "Remove an id and its keys for good", line,
                            [&](Commands& commands) { commands.revoke(line.id); }),
             kRevokeNote);
    CLI::App& rotate =
        add_id_command(key, "rotate", "Make a new key for an id and print it, this once", line,
                       [&](Commands& commands) { commands.rotate(line.id, line.overlap); });
    add_note(rotate, kRotateNote);
    rotate.add_option("--overlap", line.overlap, "How long the old key still works")
        ->capture_default_str();
}

void add_other_commands(CLI::App& app, CommandLine& line) {
    CLI::App& ban =
        *app.add_subcommand("ban", "Bans of keys that exceed their quota again and again");
    ban.require_subcommand(1)->fallthrough();
    add_id_command(ban, "show", "Strikes and ban of a key", line,
                   [&](Commands& commands) { commands.show_ban(line.id); });
    add_id_command(ban, "lift", "End a key's ban and forget its strikes", line,
                   [&](Commands& commands) { commands.lift_ban(line.id); });
    add_note(add_id_command(app, "usage", "What a key has used of its quotas", line,
                            [&](Commands& commands) { commands.usage(line.id); }),
             kUsageNote);
}

void add_watching_commands(CLI::App& app, CommandLine& line) {
    TopOptions& top = line.top;
    CLI::App& command =
        add_command(app, "top", "Who is busy: ids by requests and refusals, refreshed", line,
                    [&](Commands& commands) { commands.top(top); });
    command.add_option("--interval", top.interval, "Time between two readings, 100ms to 1h")
        ->capture_default_str();
    command.add_option("--count", top.count, "How often to print; 0: until it is interrupted")
        ->check(CLI::NonNegativeNumber)
        ->capture_default_str();
    command.add_option("--limit", top.limit, "How many lines at most")
        ->check(CLI::PositiveNumber)
        ->capture_default_str();
    command.add_option("--sort", top.sort, "What the first line has most of")
        ->check(CLI::IsMember({"requests", "refusals"}))
        ->capture_default_str();
    command
        .add_option(
            "--budget", top.budget,
            "Ids to watch at most; four times as many keys are looked through at each reading")
        ->check(CLI::Range(10, 1'000'000))
        ->capture_default_str();
    add_note(command, kTopNote);

    CLI::App& status =
        add_offline_command(app, "status", "What a node has counted, from its tollgate_status",
                            line, [&] { print_node_status(line.url, line.format()); });
    status.add_option("URL", line.url, "http://HOST[:PORT]/PATH, https://... or unix:SOCKET:/PATH")
        ->required()
        ->envname("TOLLGATE_STATUS");
    add_note(status, kStatusNote);
}

void add_shell_commands(CLI::App& app, CommandLine& line) {
    add_offline_command(app, "completion", "Print a shell's completion of this command", line,
                        [&] { require_print(completion(app, line.shell)); })
        .add_option("SHELL", line.shell, "The shell")
        ->required()
        ->check(CLI::IsMember({"bash", "zsh"}));
    add_offline_command(app, "man", "Print the manual page, for man -l -", line,
                        [&] { require_print(man_page(app)); });
}

void add_global_options(CLI::App& app, CommandLine& line) {
    app.add_option("--redis", line.redis,
                   "redis://[USER:PASSWORD@]HOST[:PORT][/DB], unix:PATH[?db=DB] or "
                   "unix://[USER:PASSWORD@]PATH[?db=DB]")
        ->envname("TOLLGATE_REDIS")
        ->capture_default_str();
    app.add_option("--prefix", line.prefix,
                   "What stands before every Redis key, as in tollgate_redis")
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
    app.description(
        "Manages the API keys of a Tollgate gateway, in its Redis, and shows how they are used.");
    add_global_options(app, line);
    add_key_commands(app, line);
    add_other_commands(app, line);
    add_watching_commands(app, line);
    add_shell_commands(app, line);
}

}  // namespace tollgate::cli
