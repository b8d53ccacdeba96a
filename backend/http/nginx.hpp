#pragma once

#include "module/nginx/nginx.hpp"

extern "C" {
#include <ngx_thread_pool.h>
}

extern ngx_module_t ngx_http_petstore_module;

namespace petstore {

using tollgate::nginx::borrow;
using tollgate::nginx::conf_error;
using tollgate::nginx::conf_ok;
using tollgate::nginx::copy;
using tollgate::nginx::core_location;
using tollgate::nginx::find_pooled;
using tollgate::nginx::is_regex;
using tollgate::nginx::make_pooled;
using tollgate::nginx::view;

/// tollgate::nginx::guarded(), with `petstore: ` at the beginning of the line in the log.
template <typename Result, typename Call>
Result guarded(ngx_log_t* log, Result failure, Call&& call) noexcept {
    return tollgate::nginx::guarded("petstore", log, failure, std::forward<Call>(call));
}

}  // namespace petstore
