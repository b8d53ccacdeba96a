#include "module/cli/command_line.hpp"

#include <CLI/CLI.hpp>
#include <functional>
#include <optional>
#include <string>

#include "module/cli/commands.hpp"
#include "module/cli/failure.hpp"
#include "module/cli/redis_session.hpp"
#include "module/cli/redis_url.hpp"

namespace tollgate::cli {

namespace {

constexpr const char* kFooter = R"(
Times: 2027-01-01T00:00:00Z, 2027-01-01 (midnight, UTC), or from now on: 90d, 12h, 30m.
Exit status: 0 done; 1 Redis can't be reached or answers an error; 2 wrong usage; 3 unknown id;
4 the id or the key exists already, or another command changed it meanwhile.)";

/// What the command line says.
struct Options {
    std::string redis = "redis://127.0.0.1:6379/0";
    std::string prefix;
    bool json = false;
    std::optional<std::string> new_id;
    std::string id;
    KeyOptions key;
    std::string overlap = "24h";
    std::function<void(Commands&)> action;
};

using Setting = std::optional<std::string>;

/// An option that may be left out, and may be given as an empty text.
CLI::Option* add_setting(CLI::App& app, const std::string& name, Setting& setting,
                         const std::string& description) {
    return app.add_option_function<std::string>(
        name, [&setting](const std::string& text) { setting = text; }, description);
}

CLI::App& add_command(CLI::App& app, const std::string& name, const std::string& description,
                      Options& options, std::function<void(Commands&)> action) {
    CLI::App* command = app.add_subcommand(name, description);
    command->fallthrough();
    command->final_callback([&options, action = std::move(action)] { options.action = action; });
    return *command;
}

CLI::App& add_id_command(CLI::App& app, const std::string& name, const std::string& description,
                         Options& options, std::function<void(Commands&)> action) {
    CLI::App& command = add_command(app, name, description, options, std::move(action));
    command.add_option("ID", options.id, "The key's id")->required();
    return command;
}

CLI::Option* add_key_options(CLI::App& command, KeyOptions& key) {
    auto* plan =
        add_setting(command, "--plan", key.plan, "The plan, as the gateway's tables name it");
    add_setting(command, "--name", key.name, "Your own word for the key");
    add_setting(command, "--limits", key.limits,
                "For plans that are `custom`: \"5000r/m 1000000r/d\", or none");
    add_setting(command, "--expires", key.expires, "When the key ends, or never");
    return plan;
}

void add_key_commands(CLI::App& app, Options& options) {
    CLI::App& key = *app.add_subcommand("key", "API keys");
    key.require_subcommand(1)->fallthrough();
    CLI::App& issue =
        add_command(key, "issue", "Make a key and print it, this once", options,
                    [&](Commands& commands) { commands.issue(options.key, options.new_id); });
    CLI::App& import = add_command(
        key, "import", "Store a key that exists elsewhere: it is read from standard input", options,
        [&](Commands& commands) { commands.import(options.key, options.new_id); });
    for (CLI::App* command : {&issue, &import}) {
        add_key_options(*command, options.key)->required();
        add_setting(*command, "--id", options.new_id, "The id; made up where it isn't given");
    }
    add_command(key, "list", "All keys, the oldest first", options,
                [](Commands& commands) { commands.list(); });
    add_id_command(key, "show", "One key", options,
                   [&](Commands& commands) { commands.show(options.id); });
    CLI::App& set = add_id_command(key, "set", "Change a key", options, [&](Commands& commands) {
        commands.set(options.id, options.key);
    });
    add_key_options(set, options.key);
    add_id_command(key, "disable", "Refuse a key until it is enabled", options,
                   [&](Commands& commands) { commands.set_active(options.id, false); });
    add_id_command(key, "enable", "Accept a key that was disabled", options,
                   [&](Commands& commands) { commands.set_active(options.id, true); });
    add_id_command(key, "revoke", "Remove a key for good", options,
                   [&](Commands& commands) { commands.revoke(options.id); });
    CLI::App& rotate =
        add_id_command(key, "rotate", "Make a new key for an id and print it, this once", options,
                       [&](Commands& commands) { commands.rotate(options.id, options.overlap); });
    rotate.add_option("--overlap", options.overlap, "How long the old key still works")
        ->capture_default_str();
}

void add_other_commands(CLI::App& app, Options& options) {
    CLI::App& ban =
        *app.add_subcommand("ban", "Bans of keys that exceed their quota again and again");
    ban.require_subcommand(1)->fallthrough();
    add_id_command(ban, "show", "Strikes and ban of a key", options,
                   [&](Commands& commands) { commands.show_ban(options.id); });
    add_id_command(ban, "lift", "End a key's ban and forget its strikes", options,
                   [&](Commands& commands) { commands.lift_ban(options.id); });
    add_id_command(app, "usage", "What a key has used of its quotas", options,
                   [&](Commands& commands) { commands.usage(options.id); });
}

void add_global_options(CLI::App& app, Options& options) {
    app.add_option("--redis", options.redis,
                   "redis://[USER:PASSWORD@]HOST[:PORT][/DB], unix:PATH[?db=DB] or "
                   "unix://[USER:PASSWORD@]PATH[?db=DB]")
        ->envname("TOLLGATE_REDIS")
        ->capture_default_str();
    app.add_option("--prefix", options.prefix,
                   "What stands before every Redis key, as in tollgate_redis")
        ->envname("TOLLGATE_PREFIX");
    app.add_flag("--json", options.json, "Print one JSON document");
    app.set_version_flag("--version", TOLLGATE_VERSION);
    app.footer(kFooter);
    app.require_subcommand(1);
}

}  // namespace

int run_command_line(int argc, char** argv) {
    Options options;
    CLI::App app("Manages the API keys of a Tollgate gateway, in its Redis.", "tollgate");
    add_global_options(app, options);
    add_key_commands(app, options);
    add_other_commands(app, options);
    try {
        app.parse(argc, argv);
    } catch (const CLI::ExtrasError&) {
        // Its text repeats the arguments, and somebody may have written a key among them.
        throw Failure(ExitStatus::kUsage, "too many arguments, or an unknown option: see --help");
    } catch (const CLI::ParseError& error) {
        if (error.get_exit_code() == 0) {
            return app.exit(error);
        }
        throw Failure(ExitStatus::kUsage, std::string(error.what()) + ": see --help");
    }
    RedisSession session(parse_redis_url(options.redis));
    Commands commands(session, redis::Keys(options.prefix),
                      options.json ? Format::kJson : Format::kText);
    options.action(commands);
    return static_cast<int>(ExitStatus::kOk);
}

}  // namespace tollgate::cli
