#include "module/report/web_pages.hpp"

#include "module/text/parse_error.hpp"

namespace tollgate {

namespace {

/// Whether the URI is on the page's own host (RFC 3986 section 4.2): it starts with neither a
/// scheme nor `//`. A `\` or a character that browsers remove could hide either.
bool stays_on_host(std::string_view uri) {
    for (const char c : uri) {
        const auto byte = static_cast<unsigned char>(c);
        if (byte <= ' ' || byte == 0x7f || c == '\\') {
            return false;
        }
    }
    const auto first_segment = uri.substr(0, uri.find_first_of("/?#"));
    return !uri.empty() && !uri.starts_with("//") &&
           first_segment.find(':') == std::string_view::npos;
}

void append_escaped(std::string& html, std::string_view text) {
    for (const char c : text) {
        switch (c) {
            case '&':
                html += "&amp;";
                break;
            case '"':
                html += "&quot;";
                break;
            case '<':
                html += "&lt;";
                break;
            case '>':
                html += "&gt;";
                break;
            default:
                html += c;
        }
    }
}

std::string filled(const PageTemplate& page, std::string_view uri) {
    std::string html(page.before);
    append_escaped(html, uri);
    html += page.after;
    return html;
}

}  // namespace

std::string dashboard_page(const PageTemplate& page, std::string_view status_uri) {
    if (!stays_on_host(status_uri)) {
        throw ParseError("invalid status URI " + in_quotes(status_uri) +
                         ": a path on the same host is needed");
    }
    return filled(page, status_uri);
}

std::string console_page(const PageTemplate& page, std::string_view api_uri) {
    if (!stays_on_host(api_uri) || !api_uri.starts_with('/') || !api_uri.ends_with('/') ||
        api_uri.find_first_of("?#") != std::string_view::npos) {
        throw ParseError("invalid API URI " + in_quotes(api_uri) +
                         ": a path that begins and ends with \"/\" is needed, such as /admin/");
    }
    return filled(page, api_uri);
}

}  // namespace tollgate
