#include "module/http/config/password_file.hpp"

#include <cerrno>
#include <fstream>
#include <system_error>

#include "module/text/parse_error.hpp"

namespace tollgate::http {

std::string read_password_file(ngx_conf_t* cf, std::string_view directive, std::string_view path) {
    ngx_str_t name = copy(cf->pool, path);
    if (ngx_conf_full_name(cf->cycle, &name, 1) != NGX_OK) {
        throw std::bad_alloc();
    }
    const auto failed = [&](std::string_view call, int error) {
        return ParseError(std::string(call) + "() " + in_quotes(view(name)) + " failed (" +
                          std::to_string(error) + ": " + std::generic_category().message(error) +
                          ") in " + in_quotes(directive));
    };
    errno = 0;
    std::ifstream file{std::string(view(name))};
    if (!file.is_open()) {
        throw failed("open", errno);
    }
    std::string password;
    std::getline(file, password);
    if (file.bad()) {
        throw failed("read", errno);
    }
    if (!password.empty() && password.back() == '\r') {
        password.pop_back();
    }
    if (password.empty()) {
        throw ParseError("no password in the first line of " + in_quotes(directive) + " " +
                         in_quotes(view(name)));
    }
    return password;
}

}  // namespace tollgate::http
