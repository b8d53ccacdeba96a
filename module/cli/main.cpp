#include <csignal>
#include <exception>
#include <iostream>

#include "module/cli/commands/command_line.hpp"
#include "module/cli/failure.hpp"
#include "module/cli/terminal/printable.hpp"

namespace {

using tollgate::cli::ExitStatus;

int report(const std::exception& error, ExitStatus status) {
    std::cerr << "tollgate: " << tollgate::cli::printable(error.what()) << '\n';
    return static_cast<int>(status);
}

}  // namespace

int main(int argc, char** argv) {
    // A reader that has gone, or a Redis, shall be an error with a message.
    static_cast<void>(std::signal(SIGPIPE, SIG_IGN));
    try {
        return tollgate::cli::run_command_line(argc, argv);
    } catch (const tollgate::cli::Failure& failure) {
        return report(failure, failure.status());
    } catch (const std::exception& error) {
        return report(error, ExitStatus::kRedis);
    }
}
