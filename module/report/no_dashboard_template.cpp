// Replaces the file that CMake makes from module/dashboard, in a build without the page.

#include "module/report/dashboard_page.hpp"

namespace tollgate {

const DashboardTemplate* dashboard_template() {
    return nullptr;
}

}  // namespace tollgate
