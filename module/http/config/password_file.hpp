#pragma once

#include <string>
#include <string_view>

#include "module/http/nginx.hpp"

namespace tollgate::http {

/// The password in the first line of a file. The path is relative to the folder of nginx.conf.
/// `directive` is for messages. Throws ParseError if there is none.
std::string read_password_file(ngx_conf_t* cf, std::string_view directive, std::string_view path);

}  // namespace tollgate::http
