#pragma once

#include <string>
#include <string_view>

namespace tollgate {

/// A web page that the build makes from module/dashboard: HTML with a gap for a URI, and its
/// Content-Security-Policy.
struct PageTemplate {
    std::string_view before;  ///< up to the URI, which is within double quotes
    std::string_view after;
    std::string_view policy;
    std::string_view script{};  ///< the file `console.js`; empty: the script is in the page
    std::string_view style{};   ///< the file `console.css`; empty: the style is in the page
};

/// The templates of this build; nullptr if the build has no pages.
const PageTemplate* dashboard_template();
const PageTemplate* console_template();

/// The dashboard that requests `status_uri`, a path that is absolute or relative to the page.
/// Throws ParseError for a URI that may lead to another host, which the browser would refuse.
std::string dashboard_page(const PageTemplate& page, std::string_view status_uri);

/// The console of the API below `api_uri`, an absolute path that ends with `/`. Throws ParseError
/// for any other text.
std::string console_page(const PageTemplate& page, std::string_view api_uri);

}  // namespace tollgate
