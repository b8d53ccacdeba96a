#pragma once

#include "module/http/nginx.hpp"

/// nginx's `return` answers in the rewrite phase, before `tollgate` asks for a key.
namespace tollgate::http {

/// Logs a warning for each guarded place where an unconditional `return` answers every request. If
/// `tollgate` is inherited, only a 2xx that clients can reach is one: a redirect or a refusal shows
/// nothing, and pages of `error_page` have no key to check. Call it when the whole configuration is
/// merged.
void warn_of_early_return(ngx_conf_t* cf);

}  // namespace tollgate::http
