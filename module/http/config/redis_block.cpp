#include "module/http/config/redis_block.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <fstream>
#include <string>
#include <system_error>

#include "module/text/duration.hpp"
#include "module/text/file_exposure.hpp"
#include "module/text/first_line.hpp"
#include "module/text/name_hash.hpp"
#include "module/text/whole_number.hpp"

namespace tollgate::http {

namespace {

int parse_database(std::string_view text) {
    constexpr int kMost = 1'000'000;
    const auto number = parse_whole_number(text, 0, kMost);
    if (!number) {
        throw ParseError("invalid database " + in_quotes(text));
    }
    return static_cast<int>(*number);
}

engine::FailurePolicy parse_policy(std::string_view text) {
    const auto* const policy = std::ranges::find(
        engine::kFailurePolicies, text, [](engine::FailurePolicy named) { return name_of(named); });
    if (policy != engine::kFailurePolicies.end()) {
        return *policy;
    }
    throw ParseError("invalid on_failure " + in_quotes(text) +
                     ": \"local\", \"allow\" or \"deny\"");
}

std::chrono::milliseconds parse_timeout(std::string_view text) {
    constexpr std::chrono::milliseconds kLongest = std::chrono::minutes(1);
    const auto time = parse_duration(text);
    if (time <= time.zero() || time > kLongest) {
        throw ParseError("invalid timeout " + in_quotes(text) +
                         ": above 0, at most a minute; without a unit it has seconds");
    }
    return time;
}

bool parse_flag(Words words) {
    if (words[1] != "on" && words[1] != "off") {
        throw ParseError("invalid value " + in_quotes(words[1]) + " in " + in_quotes(words[0]) +
                         " directive: \"on\" or \"off\"");
    }
    return words[1] == "on";
}

/// The password in the first line of a file. The path is relative to the folder of nginx.conf.
std::string read_password_file(ngx_conf_t* cf, Words words) {
    ngx_str_t name = copy(cf->pool, words[1]);
    if (ngx_conf_full_name(cf->cycle, &name, 1) != NGX_OK) {
        throw std::bad_alloc();
    }
    const auto failed = [&](std::string_view call, int error) {
        return ParseError(std::string(call) + "() " + in_quotes(view(name)) + " failed (" +
                          std::to_string(error) + ": " + std::generic_category().message(error) +
                          ") in " + in_quotes(words[0]));
    };
    errno = 0;
    std::ifstream file{std::string(view(name))};
    if (!file.is_open()) {
        throw failed("open", errno);
    }
    auto password = first_line(file);
    if (file.bad()) {
        throw failed("read", errno);
    }
    if (password.empty()) {
        throw ParseError("no password in the first line of " + in_quotes(words[0]) + " " +
                         in_quotes(view(name)));
    }
    if (const auto exposure = exposure_of(std::string(view(name))); !exposure.empty()) {
        const auto warning = in_quotes(words[0]) + " " + in_quotes(view(name)) + " " + exposure;
        ngx_conf_log_error(NGX_LOG_WARN, cf, 0, "%*s", warning.size(), warning.data());
    }
    return password;
}

using Cf = ngx_conf_t*;
using Conf = RedisConf;
using RedisDirective = DirectiveRow<void (*)(ngx_conf_t* cf, RedisConf& conf, Words words)>;

constexpr RedisDirective kRedisDirectives[] = {
    {"server", "ADDR...", read_servers},
    {"cluster", "ADDR...", read_servers},
    {"sentinel", "MASTER ADDR...", read_servers},
    {"resolver", "ADDR...", read_resolver},
    {"resolver_timeout", "TIME",
     [](Cf, Conf& c, Words w) { c.link.resolver.timeout = parse_timeout(w[1]); }},
    {"username", "NAME", [](Cf, Conf& c, Words w) { c.link.username = w[1]; }},
    {"password", "TEXT", [](Cf, Conf& c, Words w) { c.link.password = w[1]; }},
    {"password_file", "FILE",
     [](Cf cf, Conf& c, Words w) { c.link.password = read_password_file(cf, w); }},
    {"database", "NUMBER", [](Cf, Conf& c, Words w) { c.link.database = parse_database(w[1]); }},
    {"prefix", "TEXT",
     [](Cf, Conf& c, Words w) { c.settings.keys = redis::Keys(std::string(w[1])); }},
    {"connect_timeout", "TIME",
     [](Cf, Conf& c, Words w) { c.link.connect_timeout = parse_timeout(w[1]); }},
    {"timeout", "TIME", [](Cf, Conf& c, Words w) { c.link.timeout = parse_timeout(w[1]); }},
    {"on_failure", "POLICY",
     [](Cf, Conf& c, Words w) { c.settings.on_failure = parse_policy(w[1]); }},
    {"key_cache", "TIME",
     [](Cf, Conf& c, Words w) { c.settings.key_cache = parse_duration(w[1]); }},
    {"stale_keys", "TIME",
     [](Cf, Conf& c, Words w) { c.settings.stale_keys = parse_duration(w[1]); }},
    {"tls", "on|off", [](Cf, Conf& c, Words w) { c.tls = parse_flag(w); }},
    {"tls_verify", "on|off", [](Cf, Conf& c, Words w) { c.tls_settings.verify = parse_flag(w); }},
    {"tls_ca", "FILE", [](Cf, Conf& c, Words w) { c.tls_settings.ca = required_value(w); }},
    {"tls_certificate", "FILE",
     [](Cf, Conf& c, Words w) { c.tls_settings.certificate = required_value(w); }},
    {"tls_certificate_key", "FILE",
     [](Cf, Conf& c, Words w) { c.tls_settings.certificate_key = required_value(w); }},
    {"tls_server_name", "NAME",
     [](Cf, Conf& c, Words w) { c.tls_settings.server_name = required_value(w); }},
    {"sentinel_tls", "on|off", [](Cf, Conf& c, Words w) { c.sentinel.tls = parse_flag(w); }},
    {"sentinel_username", "NAME",
     [](Cf, Conf& c, Words w) { c.sentinel.group->link.username = w[1]; }},
    {"sentinel_password", "TEXT",
     [](Cf, Conf& c, Words w) { c.sentinel.group->link.password = w[1]; }},
    {"sentinel_password_file", "FILE",
     [](Cf cf, Conf& c, Words w) { c.sentinel.group->link.password = read_password_file(cf, w); }},
};

/// The first directive of the block whose name begins with a prefix; empty if there is none.
std::string_view first_seen(const RedisConf& conf, std::string_view prefix) {
    const auto first = std::ranges::find_if(
        conf.seen, [&](std::string_view name) { return name.starts_with(prefix); });
    return first == conf.seen.end() ? std::string_view() : *first;
}

bool has(const RedisConf& conf, std::string_view directive) {
    return std::ranges::find(conf.seen, directive) != conf.seen.end();
}

/// Checks the directives that say how the master is found.
void check_servers(const RedisConf& conf) {
    std::string_view first;
    for (const std::string_view kind : {"server", "sentinel", "cluster"}) {
        if (has(conf, kind) && !first.empty()) {
            throw ParseError("both " + in_quotes(first) + " and " + in_quotes(kind));
        }
        first = has(conf, kind) ? kind : first;
    }
    const auto of_sentinel = first_seen(conf, "sentinel_");
    if (first != "sentinel" && !of_sentinel.empty()) {
        throw ParseError(in_quotes(of_sentinel) + " without \"sentinel\"");
    }
    if (first.empty()) {
        throw ParseError("\"server\", \"sentinel\" or \"cluster\" is missing");
    }
    // A cluster has database 0 only, and a hash tag in the prefix would put all keys into one slot.
    if (first == "cluster" && conf.link.database != 0) {
        throw ParseError("\"database\" with \"cluster\"");
    }
    if (first == "cluster" && conf.settings.keys.probe().find('{') != std::string::npos) {
        throw ParseError("\"{\" in \"prefix\" with \"cluster\"");
    }
}

void finish_sentinel(RedisConf& conf) {
    if (!has(conf, "sentinel")) {
        conf.sentinel.group.reset();
        return;
    }
    redis::SentinelGroup& group = *conf.sentinel.group;
    if (group.link.password.empty() && !group.link.username.empty()) {
        throw ParseError("\"sentinel_username\" without \"sentinel_password\"");
    }
    group.link.name = conf.link.name;
    std::string names = group.master_name;
    for (const redis::Server& server : group.link.servers) {
        for (const redis::SocketAddress& address : server.addresses) {
            names.append(" ").append(address.name());
        }
        if (server.addresses.empty()) {
            names.append(" ").append(to_text(server.name));
        }
    }
    group.hash = name_hash(names);
}

/// A host without the brackets of an IPv6 address.
std::string_view server_name_of(std::string_view host) {
    return host.starts_with('[') && host.ends_with(']') ? host.substr(1, host.size() - 2) : host;
}

void make_tls_contexts(ngx_conf_t* cf, RedisConf& conf) {
    redis::SentinelGroup* const group = conf.sentinel.group.get();
    redis::TlsSettings& settings = conf.tls_settings;
    const bool has_sentinel_tls = group != nullptr && conf.sentinel.tls.value_or(conf.tls);
    if (!conf.tls && !has_sentinel_tls) {
        if (const auto first = first_seen(conf, "tls_"); !first.empty()) {
            throw ParseError(in_quotes(first) + " without \"tls on\"");
        }
        return;
    }
    if (conf.host.empty()) {
        throw ParseError("\"tls on\" with a unix socket as \"server\"");
    }
    if (settings.certificate.empty() != settings.certificate_key.empty()) {
        throw ParseError(settings.certificate.empty()
                             ? "\"tls_certificate_key\" without \"tls_certificate\""
                             : "\"tls_certificate\" without \"tls_certificate_key\"");
    }
    if (settings.server_name.empty()) {
        // The master of a Sentinel group is not the host of the directive.
        if (group != nullptr && settings.verify) {
            throw ParseError(
                "TLS with \"sentinel\" needs \"tls_server_name\", which the certificates of all "
                "servers must have");
        }
        settings.server_name = server_name_of(conf.host);
    }
    if (conf.tls) {
        conf.link.tls = std::make_unique<redis::TlsContext>(cf, settings);
    }
    if (has_sentinel_tls) {
        group->link.tls = std::make_unique<redis::TlsContext>(cf, settings);
    }
}

/// Checks and completes a block whose directives are read.
void finish(ngx_conf_t* cf, RedisConf& conf) {
    check_servers(conf);
    if (conf.link.password.empty() && !conf.link.username.empty()) {
        throw ParseError("\"username\" without a password");
    }
    conf.settings.name = conf.link.name;
    conf.settings.timeout = conf.link.timeout;
    std::string data = std::to_string(conf.link.database) + " " + conf.settings.keys.probe();
    for (const std::string& server : conf.servers) {
        data.append("\n").append(server);
    }
    conf.settings.name_hash = name_hash(data);
    finish_sentinel(conf);
    make_tls_contexts(cf, conf);
}

}  // namespace

char* read_redis_block(ngx_conf_t* cf, ngx_command_t* /*command*/, void* /*conf*/) noexcept {
    return read_directive(cf, [&] {
        auto& main = MainConf::of(cf);
        auto conf = std::make_unique<RedisConf>();
        conf->link.name = words_of(cf)[1];
        for (const auto& other : main.redis) {
            check_names("tollgate_redis", conf->link.name, other->link.name);
        }
        read_block(cf, [&](Words words) {
            find_directive(kRedisDirectives, "tollgate_redis", words, conf->seen)
                .set(cf, *conf, words);
        });
        try {
            finish(cf, *conf);
        } catch (const ParseError& e) {
            throw ParseError(e.what() + (" in tollgate_redis " + in_quotes(conf->link.name)));
        }
        main.redis.push_back(std::move(conf));
        return nullptr;
    });
}

}  // namespace tollgate::http
