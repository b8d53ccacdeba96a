#include "module/http/config/conf_block.hpp"

#include <algorithm>
#include <array>
#include <set>
#include <span>
#include <string>

#include "module/http/config/main_conf.hpp"
#include "module/http/config/password_file.hpp"
#include "module/http/config/redis_servers.hpp"
#include "module/http/config/sentinel_directives.hpp"
#include "module/http/config/tls_directives.hpp"
#include "module/text/duration.hpp"
#include "module/text/name_hash.hpp"
#include "module/text/parse_error.hpp"
#include "module/text/whole_number.hpp"

namespace tollgate::http {

namespace {

/// A cluster has database 0 only, and a hash tag in the prefix would put all keys into one slot.
void check_cluster(const RedisConf& conf) {
    if (conf.endpoint.database != 0) {
        throw ParseError("\"database\" with \"cluster\"");
    }
    if (conf.settings.keys.probe().find('{') != std::string::npos) {
        throw ParseError("\"{\" in \"prefix\" with \"cluster\"");
    }
}

int parse_database(std::string_view text) {
    constexpr int kMost = 1'000'000;
    const auto number = parse_whole_number(text, 0, kMost);
    if (!number) {
        throw ParseError("invalid database " + in_quotes(text));
    }
    return static_cast<int>(*number);
}

gateway::FailurePolicy parse_policy(std::string_view text) {
    const auto* const policy =
        std::ranges::find(gateway::kFailurePolicies, text,
                          [](gateway::FailurePolicy named) { return name_of(named); });
    if (policy != gateway::kFailurePolicies.end()) {
        return *policy;
    }
    throw ParseError("invalid on_failure " + in_quotes(text) +
                     ": \"local\", \"allow\" or \"deny\"");
}

std::chrono::milliseconds parse_timeout(std::string_view text) {
    constexpr std::chrono::milliseconds kLongest = std::chrono::minutes(1);
    const auto time = parse_duration(text);
    if (time <= time.zero() || time > kLongest) {
        throw ParseError("invalid timeout " + in_quotes(text) + ": above 0, at most a minute");
    }
    return time;
}

/// A directive of the block and the function that sets it, which throws ParseError for an invalid
/// value.
struct Directive {
    std::string_view name;
    void (*set)(ngx_conf_t* cf, RedisConf& conf, std::string_view value);
};

using Cf = ngx_conf_t*;

constexpr std::array kDirectives{
    Directive{"username",
              [](Cf, RedisConf& conf, std::string_view value) { conf.endpoint.username = value; }},
    Directive{"password",
              [](Cf, RedisConf& conf, std::string_view value) { conf.endpoint.password = value; }},
    Directive{"password_file",
              [](Cf cf, RedisConf& conf, std::string_view value) {
                  conf.endpoint.password = read_password_file(cf, "password_file", value);
              }},
    Directive{"database",
              [](Cf, RedisConf& conf, std::string_view value) {
                  conf.endpoint.database = parse_database(value);
              }},
    Directive{"prefix",
              [](Cf, RedisConf& conf, std::string_view value) {
                  conf.settings.keys = redis::Keys(std::string(value));
              }},
    Directive{"resolver_timeout",
              [](Cf, RedisConf& conf, std::string_view value) {
                  conf.endpoint.resolver.timeout = parse_timeout(value);
              }},
    Directive{"connect_timeout",
              [](Cf, RedisConf& conf, std::string_view value) {
                  conf.endpoint.connect_timeout = parse_timeout(value);
              }},
    Directive{"timeout",
              [](Cf, RedisConf& conf, std::string_view value) {
                  conf.endpoint.timeout = parse_timeout(value);
                  conf.settings.timeout = conf.endpoint.timeout;
              }},
    Directive{"on_failure",
              [](Cf, RedisConf& conf, std::string_view value) {
                  conf.settings.on_failure = parse_policy(value);
              }},
    Directive{"key_cache",
              [](Cf, RedisConf& conf, std::string_view value) {
                  conf.settings.key_cache = parse_duration(value);
              }},
    Directive{"stale_keys",
              [](Cf, RedisConf& conf, std::string_view value) {
                  conf.settings.stale_keys = parse_duration(value);
              }},
};

/// A directive of the block with one or more values, and the function that sets it, as Directive.
struct ListDirective {
    std::string_view name;
    void (*set)(ngx_conf_t* cf, RedisConf& conf, std::span<const std::string_view> values);
};

constexpr std::array kListDirectives{
    ListDirective{"server", read_servers},
    ListDirective{"cluster", read_cluster},
    ListDirective{"resolver", read_resolver},
};

/// Sets one directive of the block. The first of its words is its name.
void set(ngx_conf_t* cf, RedisConf& conf, std::span<const std::string_view> words) {
    if (set_sentinel_directive(cf, conf, words)) {
        return;
    }
    const auto name = words[0];
    const auto values = words.subspan(1);
    const auto* list = std::ranges::find(kListDirectives, name, &ListDirective::name);
    const bool is_list = list != kListDirectives.end();
    if (is_list ? values.empty() : values.size() != 1) {
        throw ParseError("invalid number of arguments in " + in_quotes(name) + " directive");
    }
    if (is_list) {
        list->set(cf, conf, values);
        return;
    }
    if (set_tls_directive(conf.tls, name, values[0])) {
        return;
    }
    const auto* directive = std::ranges::find(kDirectives, name, &Directive::name);
    if (directive == kDirectives.end()) {
        throw ParseError("unknown directive " + in_quotes(name) + " in \"tollgate_redis\"");
    }
    directive->set(cf, conf, values[0]);
}

/// The directives that say which data the workers of a node share in the zone.
constexpr std::array<std::string_view, 5> kIdentity{"server", "sentinel", "cluster", "database",
                                                    "prefix"};

std::string joined(const std::set<std::string, std::less<>>& lines) {
    std::string text;
    for (const std::string& line : lines) {
        text.append(line).append("\n");
    }
    return text;
}

/// The directives that say how the master is found.
void require_one_kind(const std::set<std::string, std::less<>>& seen) {
    std::string_view first;
    for (const std::string_view kind : {"server", "sentinel", "cluster"}) {
        if (seen.contains(kind)) {
            if (!first.empty()) {
                throw ParseError("both " + in_quotes(first) + " and " + in_quotes(kind));
            }
            first = kind;
        }
    }
}

}  // namespace

char* read_redis_block(ngx_conf_t* cf, ngx_command_t* /*command*/, void* /*conf*/) noexcept {
    return guarded(cf->log, conf_error(), [&] {
        auto& main = MainConf::of(cf);
        auto conf = std::make_unique<RedisConf>();
        conf->endpoint.name = words_of(cf)[1];
        conf->settings.name = conf->endpoint.name;
        const Position position = Position::of(cf);
        const auto failed = [&](std::string_view message) {
            log_conf_error(cf, position, message);
            return conf_error();
        };
        for (const auto& other : main.redis) {
            const std::string conflict =
                name_conflict("tollgate_redis", conf->endpoint.name, other->endpoint.name);
            if (!conflict.empty()) {
                return failed(conflict);
            }
        }
        std::set<std::string, std::less<>> seen;
        std::set<std::string, std::less<>> identity;
        char* result = read_block(cf, [&](std::span<const std::string_view> words) {
            // password and password_file set the same value.
            const auto name = words[0];
            const bool is_file = name.ends_with("password_file");
            if (!seen.emplace(is_file ? name.substr(0, name.rfind('_')) : name).second) {
                throw ParseError(in_quotes(name) + " directive is duplicate");
            }
            set(cf, *conf, words);
            if (std::ranges::find(kIdentity, name) != kIdentity.end()) {
                for (const std::string_view word : words.subspan(1)) {
                    identity.insert(std::string(name).append(" ").append(word));
                }
            }
        });
        if (result != conf_ok()) {
            return result;
        }
        identity.erase("server resolve");
        identity.erase("cluster resolve");
        identity.erase("sentinel resolve");
        conf->settings.name_hash = name_hash(joined(identity));
        const bool has_server = !conf->endpoint.servers.empty();
        if (!has_server && conf->sentinel.group == nullptr && conf->sentinel.first.empty()) {
            return failed("\"server\", \"sentinel\" or \"cluster\" is missing in tollgate_redis " +
                          in_quotes(conf->endpoint.name));
        }
        if (conf->endpoint.password.empty() && !conf->endpoint.username.empty()) {
            return failed("\"username\" without a password in tollgate_redis " +
                          in_quotes(conf->endpoint.name));
        }
        try {
            require_one_kind(seen);
            if (conf->settings.is_cluster) {
                check_cluster(*conf);
            }
            finish_sentinel(cf, *conf);
            if (!conf->tls.is_for_sentinels_only) {
                conf->endpoint.tls = make_tls_context(cf, conf->tls);
            }
        } catch (const ParseError& e) {
            return failed(e.what() + (" in tollgate_redis " + in_quotes(conf->endpoint.name)));
        }
        main.redis.push_back(std::move(conf));
        return conf_ok();
    });
}

}  // namespace tollgate::http
