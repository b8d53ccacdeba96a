#pragma once

#include <CLI/CLI.hpp>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "module/cli/commands/command_line.hpp"
#include "module/cli/redis/redis_session.hpp"
#include "module/redis/protocol/record_fields.hpp"

namespace tollgate::cli {

// Defines parts of the command line: see define_commands.

/// The Redis of commands for which none is configured.
constexpr const char* kDefaultRedis = "redis://127.0.0.1:6379/0";

/// Prints `note` in the help and in the manual page, after the options of the command.
void add_note(CLI::App& command, std::string_view note);

/// Defines an option without a default. An empty text is a value.
CLI::Option* add_optional(CLI::App& app, const std::string& name, std::optional<std::string>& value,
                          const std::string& description);

/// Defines an option that may be repeated.
CLI::Option* add_repeatable(CLI::App& app, const std::string& name,
                            std::vector<std::string>& values, const std::string& description);

/// Defines a command that has commands.
CLI::App& add_group(CLI::App& app, const std::string& name, const std::string& description);

/// Defines a command that does not connect to Redis.
CLI::App& add_command(CLI::App& app, const std::string& name, const std::string& description,
                      CommandLine& line, std::function<void()> action);

/// What a command that connects to Redis does, see commands.hpp.
using RedisAction = void (*)(RedisSession&, const CommandLine&);

/// Defines a command that connects to Redis. `has_id`: it has the argument ID.
CLI::App& add_redis_command(CLI::App& app, const std::string& name, const std::string& description,
                            CommandLine& line, RedisAction action, bool has_id = false);

/// Defines a command that connects to Redis and has the argument ID.
CLI::App& add_id_command(CLI::App& app, const std::string& name, const std::string& description,
                         CommandLine& line, RedisAction action);

/// Defines the option of commands that check the plans of records.
CLI::Option* add_force_option(CLI::App& command, CommandLine& line);
/// Defines the option of commands that import records: the plans of records are not checked, and a
/// key that was revoked is valid again.
void add_import_force_option(CLI::App& command, CommandLine& line);

/// Defines the option of a field of a record.
CLI::Option* add_field_option(CLI::App& command, const redis::RecordField& field,
                              CommandLine& line);

/// Defines the argument and the options of a command that credits a balance.
void add_credit_options(CLI::App& command, CommandLine& line);

/// What the command line and the environment say, and otherwise the configuration files. They are
/// not read if they are not needed.
Configuration configuration_of(const CommandLine& line);

/// Connects to the Redis of a configuration. `asks_password`: on the terminal. Throws Failure.
RedisSession connect(const Configuration& configuration, bool asks_password);

}  // namespace tollgate::cli
