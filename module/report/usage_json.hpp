#pragma once

#include <span>
#include <string>
#include <string_view>

#include "module/quota/table_quota.hpp"
#include "module/quota/window.hpp"
#include "module/report/verdict.hpp"

namespace tollgate {

/// What a client is told of its own quotas.
struct Usage {
    std::string_view id;    ///< empty where there is no key
    std::string_view plan;  ///< empty where there is no key
    Verdict verdict = Verdict::kNone;
    std::span<const TableQuota> quotas;  ///< what `windows` belong to, in their order
    std::span<const WindowState> windows;
};

/// The usage as a JSON object; module/README.md describes it.
std::string usage_json(const Usage& usage);

}  // namespace tollgate
