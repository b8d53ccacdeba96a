#pragma once

#include <span>
#include <string_view>

#include "module/http/nginx.hpp"

namespace tollgate::http {

struct RedisConf;

/// Reads `server ADDR… [resolve];` of a `tollgate_redis` block. Without `resolve`, names are
/// resolved here, once, as nginx resolves those of its upstreams. Throws ParseError.
void read_servers(ngx_conf_t* cf, RedisConf& conf, std::span<const std::string_view> values);

/// Reads `cluster ADDR… [resolve];`: the servers by which the others are found. Throws ParseError.
void read_cluster(ngx_conf_t* cf, RedisConf& conf, std::span<const std::string_view> values);

/// Reads the part `ADDR… [resolve]` of `sentinel`, of which conf.sentinel.group must exist. Throws
/// ParseError.
void read_sentinels(ngx_conf_t* cf, RedisConf& conf, std::span<const std::string_view> values);

/// Reads `resolver` of a `tollgate_redis` block, with the parameters of nginx's own directive.
/// Throws LoggedConfError.
void read_resolver(ngx_conf_t* cf, RedisConf& conf, std::span<const std::string_view> values);

/// Takes what the block does not set from the http block: the resolver and `resolver_timeout`. Call
/// it when all directives are read. Returns false after a message if names of the configuration are
/// resolved at run time and there is no resolver. A block with `sentinel` or `cluster` may be
/// without one: host names that the servers report are then not resolved.
bool find_resolver(ngx_conf_t* cf, RedisConf& conf);

}  // namespace tollgate::http
