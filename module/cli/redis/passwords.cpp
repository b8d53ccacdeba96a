#include "module/cli/redis/passwords.hpp"

#include <fstream>
#include <string>
#include <string_view>

#include "module/cli/failure.hpp"
#include "module/cli/redis/url_parameters.hpp"
#include "module/cli/terminal/terminal.hpp"

namespace tollgate::cli {

namespace {

/// The first line of the file.
std::string read_file(const std::string& path) {
    std::ifstream file(path);
    std::string password;
    std::getline(file, password);
    if (!password.empty() && password.back() == '\r') {
        password.pop_back();
    }
    if (password.empty()) {
        throw Failure(ExitStatus::kUsage,
                      "no password can be read from the first line of the password_file " + path);
    }
    return password;
}

std::string prompt(std::string_view whose) {
    auto password = read_hidden_line("Password of " + std::string(whose) + " (it is not shown): ");
    if (password.empty()) {
        throw Failure(ExitStatus::kUsage, "no password was typed");
    }
    return password;
}

}  // namespace

void read_passwords(RedisUrl& url, bool ask) {
    if (ask && !(url.login.password.empty() && url.login.password_file.empty())) {
        throw Failure(ExitStatus::kUsage,
                      "--askpass and the password of the Redis URL exclude each other");
    }
    const bool needs_login = ask || url.login.lacks_password();
    const bool needs_sentinel = url.sentinel_login.lacks_password();
    if (ask && !stdin_is_terminal()) {
        throw Failure(ExitStatus::kUsage,
                      "--askpass needs a terminal as standard input: use password_file= in the "
                      "Redis URL");
    }
    if ((needs_login || needs_sentinel) && !stdin_is_terminal()) {
        refuse_url(needs_login ? "the password is missing (use USER:PASSWORD@, :PASSWORD@, "
                                 "password_file= or a terminal)"
                               : "sentinel_password_file= is missing (or use a terminal)");
    }
    for (auto* const login : {&url.login, &url.sentinel_login}) {
        if (!login->password_file.empty()) {
            login->password = read_file(login->password_file);
        }
    }
    if (needs_login) {
        url.login.password = prompt("Redis");
    }
    if (needs_sentinel) {
        url.sentinel_login.password = prompt("the Sentinels");
    }
}

}  // namespace tollgate::cli
