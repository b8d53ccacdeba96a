#pragma once

#include "module/http/config/main_conf.hpp"
#include "module/http/shared_memory.hpp"
#include "module/report/status.hpp"

namespace tollgate::http {

/// The status of the node as its zone and its configuration show it: without what only the clients
/// of a worker know, and without the last hour.
Status node_status(const MainConf& conf, SharedMemory& memory);

}  // namespace tollgate::http
