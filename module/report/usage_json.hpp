#pragma once

#include <span>
#include <string>
#include <string_view>

#include "module/plan/limits.hpp"
#include "module/plan/table_quota.hpp"
#include "module/plan/window.hpp"
#include "module/report/verdict.hpp"

namespace tollgate {

/// The quotas of a client, as shown to the client.
struct Usage {
    std::string_view id;    ///< empty if there is no key
    std::string_view plan;  ///< empty if there is no key
    Verdict verdict = Verdict::kNone;
    std::span<const WindowState> windows;
    std::span<const FlightState> flights = {};
};

/// The usage as a JSON object; module/docs/operations.md describes it.
std::string usage_json(const Usage& usage);

}  // namespace tollgate
