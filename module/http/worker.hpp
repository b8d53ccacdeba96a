#pragma once

#include "module/http/nginx.hpp"

namespace tollgate::http {

/// Opens a worker's connections to Redis and keeps keys out of its logs; a module's init_process.
ngx_int_t start_worker(ngx_cycle_t* cycle) noexcept;

/// Closes them, or nginx would complain of open sockets; a module's exit_process.
void stop_worker(ngx_cycle_t* cycle) noexcept;

}  // namespace tollgate::http
