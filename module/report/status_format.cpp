#include "module/report/status.hpp"

#include <algorithm>

#include "module/text/accept.hpp"

namespace tollgate {

StatusFormat preferred_status_format(std::string_view accept) {
    const auto prometheus = std::max(accept_weight(accept, "text/plain"),
                                     accept_weight(accept, "application/openmetrics-text"));
    return prometheus > accept_weight(accept, "application/json") ? StatusFormat::kPrometheus
                                                                  : StatusFormat::kJson;
}

}  // namespace tollgate
