#pragma once

#include <memory>
#include <string_view>

#include "module/http/config/main_conf.hpp"
#include "module/http/nginx.hpp"

namespace tollgate::http {

/// "on" or "off". Throws ParseError for other values.
bool parse_flag(std::string_view name, std::string_view value);

/// Sets a TLS directive of a `tollgate_redis` block. False if it is another directive. Throws
/// ParseError for a value that is not valid.
bool set_tls_directive(TlsDirectives& tls, std::string_view name, std::string_view value);

/// The TLS context of a block that is read; nullptr without `tls on`. Throws ParseError for
/// directives that contradict each other, and for files that can't be used.
std::unique_ptr<redis::TlsContext> make_tls_context(ngx_conf_t* cf, const TlsDirectives& tls);

}  // namespace tollgate::http
