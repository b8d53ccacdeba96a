#pragma once

#include "module/http/config/main_conf.hpp"

namespace tollgate::http {

/// Reads `tollgate_redis NAME { … }`.
char* read_redis_block(ngx_conf_t* cf, ngx_command_t* command, void* conf) noexcept;

/// Reads `server ADDR… [resolve]`, `cluster ADDR… [resolve]` or `sentinel MASTER ADDR… [resolve]`
/// of a `tollgate_redis` block. Without `resolve`, names are resolved here, once, as nginx resolves
/// those of its upstreams. Throws ParseError.
void read_servers(ngx_conf_t* cf, RedisConf& conf, Words words);

/// Reads `resolver` of a `tollgate_redis` block, with the parameters of nginx's own directive.
/// Throws LoggedConfError.
void read_resolver(ngx_conf_t* cf, RedisConf& conf, Words words);

/// Takes what the blocks do not set from the http block: the resolver and `resolver_timeout`. Call
/// it when all directives are read. Returns false after a message if names of the configuration are
/// resolved at run time and there is no resolver. A block with `sentinel` or `cluster` may be
/// without one: host names that the servers report are then not resolved.
bool find_resolvers(ngx_conf_t* cf, const MainConf& conf);

}  // namespace tollgate::http
