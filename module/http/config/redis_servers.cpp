#include "module/http/config/redis_block.hpp"

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "module/text/parse_error.hpp"

namespace tollgate::http {

namespace {

constexpr in_port_t kRedisPort = 6379;
constexpr in_port_t kSentinelPort = 26379;

/// Reads one server of a directive. Sets `host` to its host; nothing for a unix socket.
redis::Server parse_server(ngx_conf_t* cf, std::string_view directive, std::string_view text,
                           bool resolves, std::string_view& host) {
    ngx_url_t url{};
    url.url = copy(cf->pool, text);
    url.default_port = directive == "sentinel" ? kSentinelPort : kRedisPort;
    url.no_resolve = resolves ? 1 : 0;
    const bool is_parsed = ngx_parse_url(cf->pool, &url) == NGX_OK;
    const std::string place = " in " + std::string(directive) + " " + in_quotes(text);
    if (!is_parsed || (url.naddrs == 0 && !resolves)) {
        throw ParseError((url.err != nullptr ? url.err : "no address") + place);
    }
    const bool is_unix = url.family == AF_UNIX;
    if (is_unix && directive == "sentinel") {
        throw ParseError("a unix socket" + place + ": Sentinel has TCP ports only");
    }
    if (is_unix && directive == "cluster") {
        throw ParseError("\"cluster\" with a unix socket: " + in_quotes(text));
    }
    if (is_unix && resolves) {
        throw ParseError("\"resolve\" with a unix domain socket" + place);
    }
    host = is_unix ? std::string_view() : view(url.host);
    redis::Server server;
    for (const ngx_addr_t& found : std::span(url.addrs, url.naddrs)) {
        server.addresses.emplace_back(found.sockaddr, found.socklen);
    }
    if (server.addresses.empty()) {
        server.name = {std::string(view(url.host)), url.port};
    }
    return server;
}

bool has_name(const std::vector<redis::Server>& servers) {
    return std::ranges::any_of(
        servers, [](const redis::Server& server) { return server.addresses.empty(); });
}

/// Takes what a block does not set from the http block. Returns false after a message: see
/// find_resolvers().
bool find_resolver(ngx_conf_t* cf, RedisConf& conf) {
    redis::SentinelGroup* const group = conf.sentinel.group.get();
    const bool is_needed =
        has_name(conf.link.servers) || (group != nullptr && has_name(group->link.servers));
    // Sentinels and clusters may report servers by their names.
    if (!is_needed && group == nullptr && !conf.settings.is_cluster) {
        return true;
    }
    const auto& core = core_location(cf);
    redis::Resolver& own = conf.link.resolver;
    // Without the directive, nginx may create a resolver that has no name servers.
    if (own.resolver == nullptr && core.resolver != nullptr &&
        core.resolver->connections.nelts > 0) {
        own.resolver = core.resolver;
    }
    if (own.resolver == nullptr) {
        if (is_needed) {
            log_conf_error(cf, conf.server_position,
                           "\"resolve\" in tollgate_redis " + in_quotes(conf.link.name) +
                               " needs a \"resolver\" directive");
        }
        return !is_needed;
    }
    if (own.timeout == own.timeout.zero()) {
        constexpr std::chrono::milliseconds kDefault = std::chrono::seconds(30);
        own.timeout = core.resolver_timeout == NGX_CONF_UNSET_MSEC
                          ? kDefault
                          : std::chrono::milliseconds(core.resolver_timeout);
    }
    if (group != nullptr) {
        group->link.resolver = own;
    }
    return true;
}

}  // namespace

void read_servers(ngx_conf_t* cf, RedisConf& conf, Words words) {
    const std::string_view directive = words[0];
    const bool is_sentinel = directive == "sentinel";
    std::string prefix = std::string(directive) + " ";
    if (is_sentinel) {
        words = words.subspan(1);
        if (words[0].empty()) {
            throw ParseError("empty name of the master in \"sentinel\" directive");
        }
        conf.sentinel.group->master_name = words[0];
        prefix.append(words[0]).append(" ");
    }
    const bool resolves = words.back() == "resolve";
    const Words addresses = words.subspan(1, words.size() - (resolves ? 2 : 1));
    if (addresses.empty()) {
        throw ParseError("no address in " + in_quotes(directive) + " directive");
    }
    auto& servers = is_sentinel ? conf.sentinel.group->link.servers : conf.link.servers;
    bool has_unix_socket = false;
    for (const std::string_view text : addresses) {
        std::string_view host;
        servers.push_back(parse_server(cf, directive, text, resolves, host));
        has_unix_socket = has_unix_socket || host.empty();
        if (conf.host.empty()) {
            conf.host = host;
        }
        conf.servers.insert(prefix + std::string(text));
    }
    if (has_unix_socket) {
        conf.host.clear();
    }
    conf.server_position = Position::of(cf);
    conf.settings.is_cluster = directive == "cluster";
}

void read_resolver(ngx_conf_t* cf, RedisConf& conf, Words /*words*/) {
    auto* words = static_cast<ngx_str_t*>(cf->args->elts);
    conf.link.resolver.resolver = ngx_resolver_create(cf, words + 1, cf->args->nelts - 1);
    if (conf.link.resolver.resolver == nullptr) {
        throw LoggedConfError();
    }
}

bool find_resolvers(ngx_conf_t* cf, const MainConf& conf) {
    return std::ranges::all_of(conf.redis,
                               [&](const auto& redis) { return find_resolver(cf, *redis); });
}

}  // namespace tollgate::http
