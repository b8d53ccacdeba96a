#pragma once

#include "module/http/nginx.hpp"

namespace tollgate::http {

/// Prepares the redaction of keys in fields that the operator has chosen: nginx also prints them as
/// values of variables. Returns false if memory is short. Call it after resolve_key_sources.
bool add_log_redaction(ngx_conf_t* cf);

/// Makes the error logs of this process blank keys in every line (see redact_credentials). nginx
/// prints header fields in its debug log and in some lines of level info, for HTTP/2 even before
/// any module runs. Only the log writer sees all these lines.
void redact_error_logs(ngx_cycle_t* cycle);

/// Restores the original writers: a process that exits unloads this module and still writes to its
/// logs.
void release_error_logs(ngx_cycle_t* cycle) noexcept;

}  // namespace tollgate::http
