#pragma once

#include <vector>

#include "module/http/config/main_conf.hpp"
#include "module/http/nginx.hpp"
#include "module/quota/window.hpp"

namespace tollgate::http {

/// Takes `cost` (0: looks only) from what the request's address may spend on failed
/// authentications, by the node's own clock. The windows that are left, named; none where no table
/// of the set has such a budget.
std::vector<WindowState> charge_anonymous(ngx_http_request_t* r, const TableSet& tables,
                                          std::int64_t cost, Instant now);

/// Whether a key that may be made up may be looked up for the request's address: see
/// AddressBudgets::admits_look_up. Always true where no table of the set has such a budget.
bool admits_look_up(ngx_http_request_t* r, const TableSet& tables, Instant now);

}  // namespace tollgate::http
