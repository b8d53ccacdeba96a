#pragma once

#include <string>
#include <string_view>

namespace tollgate {

/// The dashboard page that the build makes from module/dashboard: HTML with a gap for the URI of
/// the status, and the Content-Security-Policy with the hashes of its scripts.
struct DashboardTemplate {
    std::string_view before;  ///< up to the URI, which is within double quotes
    std::string_view after;
    std::string_view policy;
};

/// The template of this build; nullptr if the build has no page.
const DashboardTemplate* dashboard_template();

/// The page that requests `status_uri`, a path that is absolute or relative to the page. Throws
/// ParseError for a URI that may lead to another host, which the browser would refuse.
std::string dashboard_page(const DashboardTemplate& page, std::string_view status_uri);

}  // namespace tollgate
