#pragma once

#include <vector>

#include "module/core/window.hpp"
#include "module/http/main_conf.hpp"
#include "module/http/nginx.hpp"

namespace tollgate::http {

/// Takes `cost` (0: looks only) from what the request's address may spend on failed
/// authentications, by the node's own clock. The windows that are left, named; none where no table
/// of the set has such a budget.
std::vector<WindowState> charge_anonymous(ngx_http_request_t* r, const TableSet& tables,
                                          std::int64_t cost, Instant now);

}  // namespace tollgate::http
