#include "module/cli/commands/command_line.hpp"

#include <CLI/CLI.hpp>

#include "module/cli/commands/command_definition.hpp"
#include "module/cli/commands/usage_error.hpp"
#include "module/cli/failure.hpp"

namespace tollgate::cli {

int run_command_line(int argc, char** argv) {
    CommandLine line;
    CLI::App app;
    define(app, line);
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
        if (error.get_exit_code() == 0) {
            return app.exit(error);
        }
        throw Failure(ExitStatus::kUsage, explain(app, error));
    }
    line.action();
    return static_cast<int>(ExitStatus::kOk);
}

}  // namespace tollgate::cli
