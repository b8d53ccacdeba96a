#pragma once

#include <string_view>

namespace tollgate {

/// The result of a request: the values of `$tollgate_verdict`.
enum class Verdict {
    kNone,             ///< no location with `tollgate`
    kGranted,          ///< counted in every window
    kLimited,          ///< a window is exhausted
    kBanned,           ///< the key is banned
    kUnauthenticated,  ///< no key, or an invalid one
    kForbidden,        ///< the key's plan is not in a table, or the key lacks a scope
    kBypassed,         ///< `tollgate_bypass`
    kDegraded,         ///< granted while Redis is unreachable
    kUnavailable,      ///< refused because Redis is unreachable
};

/// The value of `$tollgate_verdict`.
constexpr std::string_view name_of(Verdict verdict) {
    switch (verdict) {
        case Verdict::kNone:
            return "-";
        case Verdict::kGranted:
            return "granted";
        case Verdict::kLimited:
            return "limited";
        case Verdict::kBanned:
            return "banned";
        case Verdict::kUnauthenticated:
            return "unauthenticated";
        case Verdict::kForbidden:
            return "forbidden";
        case Verdict::kBypassed:
            return "bypassed";
        case Verdict::kDegraded:
            return "degraded";
        case Verdict::kUnavailable:
            return "unavailable";
    }
    return "-";
}

}  // namespace tollgate
