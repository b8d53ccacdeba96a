#include "module/cli/command_line.hpp"

#include <CLI/CLI.hpp>
#include <string>

#include "module/cli/command_definition.hpp"
#include "module/cli/failure.hpp"

namespace tollgate::cli {

int run_command_line(int argc, char** argv) {
    CommandLine line;
    CLI::App app;
    define(app, line);
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
    line.action();
    return static_cast<int>(ExitStatus::kOk);
}

}  // namespace tollgate::cli
