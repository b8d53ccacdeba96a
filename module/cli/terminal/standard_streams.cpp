#include "module/cli/terminal/standard_streams.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

namespace tollgate::cli {

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
