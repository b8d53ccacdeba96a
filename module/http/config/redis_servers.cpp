#include "module/http/config/redis_servers.hpp"

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>

#include "module/http/config/conf_block.hpp"
#include "module/http/config/main_conf.hpp"
#include "module/text/parse_error.hpp"

namespace tollgate::http {

namespace {

constexpr in_port_t kRedisPort = 6379;

/// Sets `host` to the host of the server; nothing for a unix socket.
redis::Server parse_server(ngx_conf_t* cf, std::string_view text, bool resolves,
                           std::string_view& host) {
    ngx_url_t url{};
    url.url = copy(cf->pool, text);
    url.default_port = kRedisPort;
    url.no_resolve = resolves ? 1 : 0;
    const bool is_parsed = ngx_parse_url(cf->pool, &url) == NGX_OK;
    if (!is_parsed || (url.naddrs == 0 && !resolves)) {
        const char* reason = url.err != nullptr ? url.err : "no address";
        throw ParseError(std::string(reason) + " in server " + quoted(text));
    }
    if (resolves && url.family == AF_UNIX) {
        throw ParseError("\"resolve\" with a unix domain socket in server " + quoted(text));
    }
    host = url.family == AF_UNIX ? std::string_view() : view(url.host);
    redis::Server server;
    for (const ngx_addr_t& found : std::span(url.addrs, url.naddrs)) {
        server.addresses.emplace_back(found.sockaddr, found.socklen, std::string(view(found.name)));
    }
    if (server.addresses.empty()) {
        server.host = view(url.host);
        server.port = url.port;
    }
    return server;
}

/// Reads `ADDR… [resolve]`, the values of a directive.
void add_servers(ngx_conf_t* cf, RedisConf& conf, std::string_view directive,
                 std::span<const std::string_view> values) {
    const bool resolves = values.back() == "resolve";
    if (resolves) {
        values = values.first(values.size() - 1);
    }
    if (values.empty()) {
        throw ParseError("no address in " + quoted(directive) + " directive");
    }
    conf.server_position = Position::of(cf);
    bool has_unix_socket = false;
    for (const std::string_view text : values) {
        std::string_view host;
        conf.endpoint.servers.push_back(parse_server(cf, text, resolves, host));
        has_unix_socket = has_unix_socket || host.empty();
        if (conf.tls.host.empty()) {
            conf.tls.host = host;
        }
    }
    if (has_unix_socket) {
        conf.tls.host.clear();
    }
}

}  // namespace

void read_servers(ngx_conf_t* cf, RedisConf& conf, std::span<const std::string_view> values) {
    add_servers(cf, conf, "server", values);
}

void read_cluster(ngx_conf_t* cf, RedisConf& conf, std::span<const std::string_view> values) {
    for (const std::string_view text : values) {
        if (text.starts_with("unix:")) {
            throw ParseError("\"cluster\" with a unix socket: " + quoted(text));
        }
    }
    add_servers(cf, conf, "cluster", values);
    conf.settings.is_cluster = true;
}

void read_resolver(ngx_conf_t* cf, RedisConf& conf, std::span<const std::string_view> values) {
    auto* words = static_cast<ngx_str_t*>(cf->args->elts);
    conf.endpoint.resolver.resolver = ngx_resolver_create(cf, words + 1, values.size());
    if (conf.endpoint.resolver.resolver == nullptr) {
        throw LoggedConfError();
    }
}

bool find_resolver(ngx_conf_t* cf, RedisConf& conf) {
    redis::Resolver& own = conf.endpoint.resolver;
    const bool resolves = std::ranges::any_of(
        conf.endpoint.servers, [](const redis::Server& server) { return !server.host.empty(); });
    if (!resolves) {
        return true;
    }
    const auto* core = static_cast<ngx_http_core_loc_conf_t*>(
        ngx_http_conf_get_module_loc_conf(cf, ngx_http_core_module));
    if (own.resolver == nullptr) {
        // Without the directive, nginx may create a resolver that has no name servers.
        if (core->resolver == nullptr || core->resolver->connections.nelts == 0) {
            log_conf_error(cf, conf.server_position,
                           "\"resolve\" in tollgate_redis " + quoted(conf.endpoint.name) +
                               " needs a \"resolver\" directive");
            return false;
        }
        own.resolver = core->resolver;
    }
    if (own.timeout == own.timeout.zero()) {
        constexpr std::chrono::milliseconds kDefault = std::chrono::seconds(30);
        own.timeout = core->resolver_timeout == NGX_CONF_UNSET_MSEC
                          ? kDefault
                          : std::chrono::milliseconds(core->resolver_timeout);
    }
    return true;
}

}  // namespace tollgate::http
