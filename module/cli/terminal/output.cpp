#include "module/cli/terminal/output.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <iostream>
#include <string>
#include <system_error>

#include "module/cli/failure.hpp"
#include "module/cli/terminal/printable.hpp"

namespace tollgate::cli {

bool print(std::string_view text) {
    while (!text.empty()) {
        const auto written = ::write(STDOUT_FILENO, text.data(), text.size());
        if (written < 0 && errno != EINTR) {
            return false;
        }
        text.remove_prefix(written < 0 ? 0 : static_cast<std::size_t>(written));
    }
    return true;
}

void require_print(std::string_view text) {
    if (print(text)) {
        return;
    }
    const int error = errno;
    if (error == EPIPE) {
        static_cast<void>(std::signal(SIGPIPE, SIG_DFL));
        static_cast<void>(std::raise(SIGPIPE));
    }
    throw Failure(ExitStatus::kRedis,
                  "cannot write to standard output: " + std::generic_category().message(error));
}

void warn(std::string_view text) {
    std::cerr << "tollgate: warning: " << printable(text) << '\n';
}

void occupy_standard_streams() {
    for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
        if (::fcntl(stream, F_GETFD) != -1) {
            continue;
        }
        // open() returns the lowest free number. The wrong direction makes each use an error.
        const int direction = stream == STDIN_FILENO ? O_WRONLY : O_RDONLY;
        if (::open("/dev/null", direction) != stream) {
            throw std::system_error(errno, std::generic_category(), "cannot open /dev/null");
        }
    }
}

}  // namespace tollgate::cli
