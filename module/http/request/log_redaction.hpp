#pragma once

#include "module/http/nginx.hpp"

namespace tollgate::http {

/// Remembers the error log of the location that is being merged.
void note_error_log(ngx_conf_t* cf);

/// Makes this process's error logs blank the keys in what they write (see redact_credentials).
/// nginx shows header fields in its debug log, those of HTTP/2 before any module sees them, and
/// in some lines at level info: only where they are written are they all caught.
void redact_error_logs(ngx_cycle_t* cycle);

/// Undoes it: a process that exits unloads this module and goes on to log.
void release_error_logs(ngx_cycle_t* cycle) noexcept;

}  // namespace tollgate::http
