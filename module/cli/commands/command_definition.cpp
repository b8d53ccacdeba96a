#include <array>

#include "module/cli/commands/command_builder.hpp"
#include "module/cli/commands/command_definitions.hpp"
#include "module/cli/commands/command_tree.hpp"
#include "module/cli/commands/commands.hpp"

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

void add_shell_commands(CLI::App& app, CommandLine& line) {
    add_command(app, "completion", "Print the completion script for a shell", line,
                [&] { require_print(completion(app, line.shell)); })
        .add_option("SHELL", line.shell, "Shell that reads the script")
        ->required()
        ->check(CLI::IsMember({"bash", "zsh"}));
    CLI::App& complete = add_redis_command(
        app, "complete",
        "Print the plans, the groups or the ids that begin with WORD, one on a line", line,
        list_words);
    complete.group("");
    complete.add_option("KIND", line.listed)
        ->required()
        ->check(CLI::IsMember({"plans", "groups", "ids"}));
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
    define_key(app, line);
    define_group(app, line);
    define_ban(app, line);
    define_import(app, line);
    define_export(app, line);
    define_audit(app, line);
    define_usage(app, line);
    define_notify(app, line);
    define_top(app, line);
    define_doctor(app, line);
    define_status(app, line);
    define_simulate(app, line);
    add_shell_commands(app, line);
}

}  // namespace tollgate::cli
