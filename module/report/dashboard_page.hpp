#pragma once

#include <string>
#include <string_view>

namespace tollgate {

/// The dashboard's page as the build makes it from module/dashboard: HTML in which the address of
/// the status is to be filled in, and the Content-Security-Policy that has its scripts' hashes.
struct DashboardTemplate {
    std::string_view before;  ///< the address; it stands within double quotes
    std::string_view after;
    std::string_view policy;
};

/// Of this build; nullptr where it was made without the page.
const DashboardTemplate* dashboard_template();

/// The page that asks `status_uri`, an absolute path or one relative to the page. Throws ParseError
/// for an address that may lead to another host, which a browser would refuse.
std::string dashboard_page(const DashboardTemplate& page, std::string_view status_uri);

}  // namespace tollgate
