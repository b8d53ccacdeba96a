#include "module/http/config/redis_block.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <fstream>
#include <set>
#include <span>
#include <string>
#include <system_error>

#include "module/http/config/conf_block.hpp"
#include "module/http/config/main_conf.hpp"
#include "module/http/config/redis_servers.hpp"
#include "module/text/duration.hpp"
#include "module/text/name_hash.hpp"
#include "module/text/parse_error.hpp"
#include "module/text/whole_number.hpp"

namespace tollgate::http {

namespace {

/// The first line of a file, which is named relative to nginx.conf's folder.
std::string read_password(ngx_conf_t* cf, std::string_view path) {
    ngx_str_t name = copy(cf->pool, path);
    if (ngx_conf_full_name(cf->cycle, &name, 1) != NGX_OK) {
        throw std::bad_alloc();
    }
    const auto failed = [&](std::string_view call, int error) {
        return ParseError(std::string(call) + "() " + quoted(view(name)) + " failed (" +
                          std::to_string(error) + ": " + std::generic_category().message(error) +
                          ") in \"password_file\"");
    };
    errno = 0;
    std::ifstream file{std::string(view(name))};
    if (!file.is_open()) {
        throw failed("open", errno);
    }
    std::string password;
    std::getline(file, password);
    if (file.bad()) {
        throw failed("read", errno);
    }
    if (!password.empty() && password.back() == '\r') {
        password.pop_back();
    }
    if (password.empty()) {
        throw ParseError("no password in the first line of \"password_file\" " +
                         quoted(view(name)));
    }
    return password;
}

int parse_database(std::string_view text) {
    constexpr int kMost = 1'000'000;
    const auto number = parse_whole_number(text, 0, kMost);
    if (!number) {
        throw ParseError("invalid database " + quoted(text));
    }
    return static_cast<int>(*number);
}

gateway::FailurePolicy parse_policy(std::string_view text) {
    if (text == "local") {
        return gateway::FailurePolicy::kLocal;
    }
    if (text == "deny") {
        return gateway::FailurePolicy::kDeny;
    }
    if (text == "allow") {
        return gateway::FailurePolicy::kAllow;
    }
    throw ParseError("invalid on_failure " + quoted(text) + ": \"local\", \"allow\" or \"deny\"");
}

std::chrono::milliseconds parse_timeout(std::string_view text) {
    constexpr std::chrono::milliseconds kLongest = std::chrono::minutes(1);
    const auto time = parse_duration(text);
    if (time <= time.zero() || time > kLongest) {
        throw ParseError("invalid timeout " + quoted(text) + ": above 0, at most a minute");
    }
    return time;
}

/// A directive of the block, and what sets it. It throws ParseError for a value that is not valid.
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
                  conf.endpoint.password = read_password(cf, value);
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

/// A directive of the block with one or more values, and what sets it, as Directive.
struct ListDirective {
    std::string_view name;
    void (*set)(ngx_conf_t* cf, RedisConf& conf, std::span<const std::string_view> values);
};

constexpr std::array kListDirectives{
    ListDirective{"server", read_servers},
    ListDirective{"resolver", read_resolver},
};

/// Sets one directive of the block. The first of its words is its name.
void set(ngx_conf_t* cf, RedisConf& conf, std::span<const std::string_view> words) {
    const auto values = words.subspan(1);
    const auto* one = std::ranges::find(kDirectives, words[0], &Directive::name);
    const auto* list = std::ranges::find(kListDirectives, words[0], &ListDirective::name);
    const bool takes_one = one != kDirectives.end();
    if (takes_one ? values.size() != 1 : values.empty()) {
        throw ParseError("invalid number of arguments in " + quoted(words[0]) + " directive");
    }
    if (takes_one) {
        one->set(cf, conf, values[0]);
    } else if (list != kListDirectives.end()) {
        list->set(cf, conf, values);
    } else {
        throw ParseError("unknown directive " + quoted(words[0]) + " in \"tollgate_redis\"");
    }
}

}  // namespace

char* read_redis_block(ngx_conf_t* cf, ngx_command_t* /*command*/, void* /*conf*/) noexcept {
    return guarded(cf->log, conf_error(), [&] {
        auto& main = MainConf::of(cf);
        auto conf = std::make_unique<RedisConf>();
        conf->endpoint.name = words_of(cf)[1];
        conf->settings.name = conf->endpoint.name;
        conf->settings.name_hash = name_hash(conf->endpoint.name);
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
        char* result = read_block(cf, [&](std::span<const std::string_view> words) {
            // password and password_file set the same value.
            if (!seen.emplace(words[0] == "password_file" ? "password" : words[0]).second) {
                throw ParseError(quoted(words[0]) + " directive is duplicate");
            }
            set(cf, *conf, words);
        });
        if (result != conf_ok()) {
            return result;
        }
        if (conf->endpoint.servers.empty()) {
            return failed("\"server\" is missing in tollgate_redis " + quoted(conf->endpoint.name));
        }
        if (conf->endpoint.password.empty() && !conf->endpoint.username.empty()) {
            return failed("\"username\" without a password in tollgate_redis " +
                          quoted(conf->endpoint.name));
        }
        main.redis.push_back(std::move(conf));
        return conf_ok();
    });
}

}  // namespace tollgate::http
