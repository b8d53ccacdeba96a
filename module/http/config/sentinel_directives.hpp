#pragma once

#include <span>
#include <string_view>

#include "module/http/config/main_conf.hpp"
#include "module/http/nginx.hpp"

namespace tollgate::http {

/// Sets `sentinel` or `sentinel_*` of a `tollgate_redis` block. The first word is the name. False
/// if it is another directive. Throws ParseError for a value that is not valid.
bool set_sentinel_directive(ngx_conf_t* cf, RedisConf& conf,
                            std::span<const std::string_view> words);

/// Completes the Sentinel group of a block that is read, and the TLS directives that depend on it.
/// Has no effect without Sentinel directives. Throws ParseError for directives that contradict each
/// other, and for files that can't be used.
void finish_sentinel(ngx_conf_t* cf, RedisConf& conf);

}  // namespace tollgate::http
