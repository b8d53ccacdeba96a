#pragma once

#include "module/http/nginx.hpp"

namespace tollgate::http {

/// Adds the `$tollgate_…` variables; a preconfiguration. They take no place in nginx's hash of
/// variables, which is nearly full with all modules of Debian. What reads a variable by its name at
/// run time (SSI, Perl) finds them by their prefix.
ngx_int_t add_variables(ngx_conf_t* cf) noexcept;

/// nginx takes every name with the prefix for a variable. Logs an error and returns false if the
/// configuration uses one that nobody defines. Call it when the whole configuration is read.
bool check_variables(ngx_conf_t* cf);

}  // namespace tollgate::http
