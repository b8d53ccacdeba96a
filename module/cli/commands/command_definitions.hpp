#pragma once

#include "module/cli/commands/command_line.hpp"

namespace tollgate::cli {

// Parts of define_commands: each defines a command, or a command that has commands.

void define_key(CLI::App& app, CommandLine& line);
void define_group(CLI::App& app, CommandLine& line);
void define_ban(CLI::App& app, CommandLine& line);
void define_import(CLI::App& app, CommandLine& line);
void define_export(CLI::App& app, CommandLine& line);
void define_audit(CLI::App& app, CommandLine& line);
void define_usage(CLI::App& app, CommandLine& line);
void define_notify(CLI::App& app, CommandLine& line);
void define_top(CLI::App& app, CommandLine& line);
void define_doctor(CLI::App& app, CommandLine& line);
void define_status(CLI::App& app, CommandLine& line);
void define_simulate(CLI::App& app, CommandLine& line);

}  // namespace tollgate::cli
