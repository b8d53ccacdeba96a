#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "module/cli/commands/command_builder.hpp"
#include "module/cli/commands/commands.hpp"
#include "module/cli/commands/operation_failure.hpp"
#include "module/cli/failure.hpp"
#include "module/cli/redis/deployment_warnings.hpp"
#include "module/cli/terminal/text_layout.hpp"
#include "module/management/groups.hpp"

namespace tollgate::cli {

void add_note(CLI::App& command, std::string_view note) {
    command.footer(wrap_text(note, kHelpWidth));
}

CLI::Option* add_optional(CLI::App& app, const std::string& name, std::optional<std::string>& value,
                          const std::string& description) {
    return app.add_option_function<std::string>(
        name, [&value](const std::string& text) { value = text; }, description);
}

CLI::Option* add_repeatable(CLI::App& app, const std::string& name,
                            std::vector<std::string>& values, const std::string& description) {
    return app.add_option(name, values, description)->allow_extra_args(false);
}

CLI::App& add_group(CLI::App& app, const std::string& name, const std::string& description) {
    return *app.add_subcommand(name, description)->require_subcommand(1)->fallthrough();
}

CLI::App& add_command(CLI::App& app, const std::string& name, const std::string& description,
                      CommandLine& line, std::function<void()> action) {
    CLI::App* command = app.add_subcommand(name, description);
    command->fallthrough();
    command->final_callback([&line, action = std::move(action)] { line.action = action; });
    return *command;
}

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
    const auto prefix = configuration.prefix.value_or("");
    // nginx refuses it as well: a hash tag would put all keys into one slot.
    if (url.kind == RedisUrl::Kind::kCluster && prefix.find('{') != std::string::npos) {
        throw Failure(ExitStatus::kUsage, "\"{\" in the prefix with a cluster of Redis");
    }
    read_passwords(url, asks_password);
    return {url, prefix};
}

namespace {

/// The commands that make records, which no gateway finds with a wrong prefix.
constexpr std::array<RedisAction, 4> kMakers{issue_key, import_key, import_files, set_group};

}  // namespace

CLI::App& add_redis_command(CLI::App& app, const std::string& name, const std::string& description,
                            CommandLine& line, RedisAction action, bool has_id) {
    CLI::App& command = add_command(app, name, description, line, [&line, action, has_id] {
        auto session = connect(configuration_of(line), line.ask_password);
        const bool may_be_wrong = std::ranges::find(kMakers, action) == kMakers.end() || line.force;
        check_prefix(session, may_be_wrong ? WrongPrefix::kWarning : WrongPrefix::kFailure);
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

CLI::Option* add_force_option(CLI::App& command, CommandLine& line) {
    return command.add_flag("--force", line.force,
                            "Accept a prefix that no gateway uses, a plan that no plan table has, "
                            "a `custom` plan without limits, and limits of another plan");
}

void add_import_force_option(CLI::App& command, CommandLine& line) {
    auto* const option = add_force_option(command, line);
    option->description(option->get_description() + "; accept a key that was revoked");
}

void add_credit_options(CLI::App& command, CommandLine& line) {
    command.add_option("UNITS", line.credit.units, "Number of units to add")
        ->required()
        ->type_name("UNITS");
    command
        .add_option("--ref", line.credit.reference,
                    "Reference of the credit, such as the number of an order")
        ->required();
    command.add_option("--table", line.credit.table,
                       "Plan table that has the balance; needed if several tables have one");
    add_note(command,
             "A reference is credited once: the command may be repeated, also if its output was "
             "lost. With other units, a reference that was credited is refused.");
}

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
    } else if (field.name == redis::record_field::kGroup) {
        option->type_name("GROUP");
    }
    return option;
}

}  // namespace tollgate::cli
