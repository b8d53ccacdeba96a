// The value of an Accept field, for tollgate_status.

#include <algorithm>
#include <string>

#include "module/report/status.hpp"
#include "module/text/ascii.hpp"
#include "t/fuzz/fuzz_target.hpp"

void tollgate::fuzz::check(std::string_view input) {
    const std::string accept(input);
    const auto format = preferred_status_format(accept);
    std::string lower = accept;
    std::ranges::transform(lower, lower.begin(), to_lower);
    require(preferred_status_format(lower) == format);
    require(format == StatusFormat::kJson || lower.find("text/plain") != std::string::npos ||
            lower.find("application/openmetrics-text") != std::string::npos);
    // JSON with the weight 1 is preferred to anything, and a further text does not make texts
    // worse.
    require(preferred_status_format(accept + ",application/json") == StatusFormat::kJson);
    require(format == StatusFormat::kJson ||
            preferred_status_format(accept + ",text/plain;q=1") == format);
    // The order of the ranges does not matter.
    const auto middle = accept.size() / 2;
    const auto first = accept.substr(0, middle);
    const auto second = accept.substr(middle);
    require(preferred_status_format(first + "," + second) ==
            preferred_status_format(second + "," + first));
}
