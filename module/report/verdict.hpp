#pragma once

#include <array>
#include <cstddef>
#include <string_view>

namespace tollgate {

/// The result of a request: the values of `$tollgate_verdict`.
enum class Verdict {
    kNone,             ///< no location with `tollgate`
    kGranted,          ///< counted in every window
    kLimited,          ///< a window is exhausted
    kBanned,           ///< the key is banned
    kUnauthenticated,  ///< no key, or an invalid one
    kForbidden,        ///< the key may not do this, or the body lacks a value that is required
    kBypassed,         ///< `tollgate_bypass`
    kDegraded,         ///< granted while Redis is unreachable
    kUnavailable,      ///< refused because Redis is unreachable
};

/// Every value of `$tollgate_verdict`, in the order of the verdicts.
constexpr std::array<std::string_view, 9> kVerdictNames{
    "-",         "granted",  "limited",  "banned",     "unauthenticated",
    "forbidden", "bypassed", "degraded", "unavailable"};

/// The value of `$tollgate_verdict`.
constexpr std::string_view name_of(Verdict verdict) {
    return kVerdictNames[static_cast<std::size_t>(verdict)];
}

}  // namespace tollgate
