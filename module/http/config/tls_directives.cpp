#include "module/http/config/tls_directives.hpp"

#include <algorithm>
#include <array>
#include <string>

#include "module/text/parse_error.hpp"

namespace tollgate::http {

bool parse_flag(std::string_view name, std::string_view value) {
    if (value != "on" && value != "off") {
        throw ParseError("invalid value " + in_quotes(value) + " in " + in_quotes(name) +
                         " directive: \"on\" or \"off\"");
    }
    return value == "on";
}

namespace {

/// A directive whose value is a file or a name.
struct TextDirective {
    std::string_view name;
    std::string redis::TlsSettings::*field;
};

constexpr std::array kTexts{
    TextDirective{"tls_ca", &redis::TlsSettings::ca},
    TextDirective{"tls_certificate", &redis::TlsSettings::certificate},
    TextDirective{"tls_certificate_key", &redis::TlsSettings::certificate_key},
    TextDirective{"tls_server_name", &redis::TlsSettings::server_name},
};

/// The host of `server` without the brackets of an IPv6 address.
std::string server_name_of(std::string_view host) {
    if (host.starts_with('[') && host.ends_with(']')) {
        host = host.substr(1, host.size() - 2);
    }
    return std::string(host);
}

}  // namespace

bool set_tls_directive(TlsDirectives& tls, std::string_view name, std::string_view value) {
    if (name == "tls") {
        tls.on = parse_flag(name, value);
        return true;
    }
    const auto* text = std::ranges::find(kTexts, name, &TextDirective::name);
    if (name == "tls_verify") {
        tls.settings.verify = parse_flag(name, value);
    } else if (text == kTexts.end()) {
        return false;
    } else if (value.empty()) {
        throw ParseError("empty value in " + in_quotes(name) + " directive");
    } else {
        tls.settings.*(text->field) = value;
    }
    if (tls.first.empty()) {
        tls.first = name;
    }
    return true;
}

std::unique_ptr<redis::TlsContext> make_tls_context(ngx_conf_t* cf, const TlsDirectives& tls) {
    if (!tls.on) {
        if (!tls.first.empty()) {
            throw ParseError(in_quotes(tls.first) + " without \"tls on\"");
        }
        return nullptr;
    }
    if (tls.host.empty()) {
        throw ParseError("\"tls on\" with a unix socket as \"server\"");
    }
    if (tls.settings.certificate.empty() != tls.settings.certificate_key.empty()) {
        throw ParseError(tls.settings.certificate.empty()
                             ? "\"tls_certificate_key\" without \"tls_certificate\""
                             : "\"tls_certificate\" without \"tls_certificate_key\"");
    }
    redis::TlsSettings settings = tls.settings;
    if (settings.server_name.empty()) {
        settings.server_name = server_name_of(tls.host);
    }
    return std::make_unique<redis::TlsContext>(cf, std::move(settings));
}

}  // namespace tollgate::http
