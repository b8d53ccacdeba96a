#include "module/cli/keys/actor.hpp"

#include <pwd.h>
#include <unistd.h>

#include <array>
#include <climits>
#include <cstdlib>

namespace tollgate::cli {

namespace {

std::string user_name() {
    const uid_t user = getuid();
    const char* const caller = std::getenv("SUDO_USER");
    if (user == 0 && caller != nullptr && *caller != '\0') {
        return caller;
    }
    // A container may have no entry for its user.
    const passwd* const entry = getpwuid(user);
    return entry != nullptr ? entry->pw_name : std::to_string(user);
}

}  // namespace

std::string user_at_host() {
    std::array<char, HOST_NAME_MAX + 1> host{};
    if (gethostname(host.data(), host.size() - 1) != 0) {
        host = {};
    }
    return user_name() + "@" + host.data();
}

}  // namespace tollgate::cli
