#pragma once

#include <string_view>

namespace tollgate {

/// What became of a request; the values of `$tollgate_verdict`.
enum class Verdict {
    kNone,             ///< no tollgate location was passed
    kGranted,          ///< counted in every window
    kLimited,          ///< a window is exhausted
    kBanned,           ///< the key is banned for going on after its 429s
    kUnauthenticated,  ///< no key, or one that is not good
    kForbidden,        ///< the key's plan has no place in a table
    kBypassed,         ///< `tollgate_bypass`
    kDegraded,         ///< let through uncounted, since Redis is out of reach
    kUnavailable,      ///< refused, since Redis is out of reach
};

/// The verdict as `$tollgate_verdict` shows it.
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
