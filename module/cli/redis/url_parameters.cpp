#include "module/cli/redis/url_parameters.hpp"

#include <limits>
#include <map>
#include <set>
#include <utility>

#include "module/cli/failure.hpp"
#include "module/text/percent_encoding.hpp"
#include "module/text/whole_number.hpp"

namespace tollgate::cli {

namespace {

bool parse_switch(const std::string& value) {
    if (value != "on" && value != "off") {
        refuse_url("tls_verify must be on or off");
    }
    return value == "on";
}

[[noreturn]] void refuse_parameter(std::string_view name, bool is_unix, const RedisUrl& url) {
    if (name.starts_with("tls_") && !url.tls.on) {
        refuse_url("tls_ parameters need rediss://, rediss+sentinel:// or rediss+cluster://");
    }
    if (name.starts_with("sentinel_") && url.kind != RedisUrl::Kind::kSentinel) {
        refuse_url("sentinel_ parameters need redis+sentinel:// or rediss+sentinel://");
    }
    std::string known = is_unix ? "only db= and password_file=" : "only password_file=";
    if (url.tls.on) {
        known += ", tls_ parameters";
    }
    if (url.kind == RedisUrl::Kind::kSentinel) {
        known += ", sentinel_username=, sentinel_password_file=";
    }
    refuse_url(known + " may follow the ?");
}

void set_parameter(std::string_view name, const std::string& value, bool is_unix, RedisUrl& url) {
    std::map<std::string_view, std::string*> texts{{"password_file", &url.login.password_file}};
    if (url.tls.on) {
        texts.insert({{"tls_ca", &url.tls.ca},
                      {"tls_cert", &url.tls.certificate},
                      {"tls_key", &url.tls.key},
                      {"tls_server_name", &url.tls.server_name}});
    }
    if (url.kind == RedisUrl::Kind::kSentinel) {
        texts.insert({{"sentinel_username", &url.sentinel_login.user},
                      {"sentinel_password_file", &url.sentinel_login.password_file}});
    }
    if (const auto text = texts.find(name); text != texts.end()) {
        *text->second = value;
    } else if (name == "db" && is_unix) {
        url.database = parse_database(value);
    } else if (name == "tls_verify" && url.tls.on) {
        url.tls.verify = parse_switch(value);
    } else {
        refuse_parameter(name, is_unix, url);
    }
}

}  // namespace

void refuse_url(const std::string& why) {
    throw Failure(ExitStatus::kUsage, "invalid Redis URL: " + why);
}

std::uint32_t parse_database(std::string_view text) {
    const auto database = parse_whole_number(text, 0, std::numeric_limits<std::uint32_t>::max());
    if (!database) {
        refuse_url("the database must be a number");
    }
    return static_cast<std::uint32_t>(*database);
}

std::string percent_decoded(std::string_view text) {
    auto decoded = percent_decode(text);
    if (!decoded) {
        refuse_url("two hexadecimal digits must follow each %");
    }
    return std::move(*decoded);
}

void take_parameters(std::string_view& text, bool is_unix, RedisUrl& url) {
    const auto query = text.find('?');
    if (query == std::string_view::npos) {
        return;
    }
    std::set<std::string_view> seen;
    auto rest = text.substr(query + 1);
    text = text.substr(0, query);
    while (true) {
        const auto end = rest.find('&');
        const auto parameter = rest.substr(0, end);
        const auto equal = parameter.find('=');
        const auto name = parameter.substr(0, equal);
        const auto value =
            equal == std::string_view::npos ? "" : percent_decoded(parameter.substr(equal + 1));
        if (!seen.insert(name).second) {
            refuse_url("a parameter after the ? is repeated");
        }
        if (value.empty()) {
            refuse_url("a parameter after the ? has no value");
        }
        set_parameter(name, value, is_unix, url);
        if (end == std::string_view::npos) {
            break;
        }
        rest.remove_prefix(end + 1);
    }
    if (url.tls.certificate.empty() != url.tls.key.empty()) {
        refuse_url("tls_cert and tls_key need each other");
    }
}

}  // namespace tollgate::cli
