#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "module/http/config/directive.hpp"
#include "module/http/nginx.hpp"
#include "module/plan/cost.hpp"

namespace tollgate::http {

struct LocationConf;

/// A `tollgate_cost` directive.
struct CostConf {
    ngx_http_complex_value_t before{};           ///< what a request takes
    ngx_http_complex_value_t* settle = nullptr;  ///< what it has used at its end; nullptr: the same
    std::int64_t constant = 0;  ///< what each request takes; 0: nothing, or a variable says it
    std::int64_t least = 0;     ///< `min=`; 0: none
    std::string table{};        ///< `table=`; empty: every table that no other directive names
    Position position{};
};

/// The `tollgate_cost` directives of a block.
struct CostsConf {
    std::vector<CostConf> all;

    /// The directive for a table; nullptr: a request costs 1.
    const CostConf* of(std::string_view table) const;
};

/// The directives for the tables of a location, in their order; nullptr: a request costs 1.
using TableCosts = std::vector<const CostConf*>;

/// Reads `tollgate_cost NUMBER | $variable [settle=$variable] [min=NUMBER] [table=NAME]`.
char* read_cost(ngx_conf_t* cf, ngx_command_t* command, void* conf) noexcept;

/// Sets LocationConf::table_costs from the directives and the tables that apply to the location.
/// `is_own`: the location has directives of its own, which may name its tables only. Returns false
/// after logging a mistake.
bool assign_costs(ngx_conf_t* cf, LocationConf& conf, bool is_own);

/// Whether every `table=` names a plan table. If not, logs an error.
bool check_costs(ngx_conf_t* cf);

/// What a request costs in each table of its location. A cost that is invalid is logged, and is 1.
/// Throws std::bad_alloc.
Cost cost_of(ngx_http_request_t* r, const TableCosts& costs);

/// What a request has used that ends now: what it has reserved, except where the cost is settled
/// and its variable is a number. Another value is logged. Throws std::bad_alloc.
Cost used_by(ngx_http_request_t* r, const TableCosts& costs, const Cost& reserved);

}  // namespace tollgate::http
