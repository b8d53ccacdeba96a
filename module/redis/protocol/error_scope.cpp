#include "module/redis/protocol/error_scope.hpp"

#include <algorithm>
#include <array>
#include <span>

namespace tollgate::redis {

namespace {

struct ErrorCode {
    std::string_view code;
    ErrorScope scope;
    ErrorAction action;
};

constexpr std::array<ErrorCode, 16> kCodes{{
    {"MOVED", ErrorScope::kCluster, ErrorAction::kMoved},
    {"ASK", ErrorScope::kCluster, ErrorAction::kAsk},
    {"TRYAGAIN", ErrorScope::kCluster, ErrorAction::kRetryLater},
    {"CROSSSLOT", ErrorScope::kCluster, ErrorAction::kNone},
    {"CLUSTERDOWN", ErrorScope::kServer, ErrorAction::kRediscover},
    {"LOADING", ErrorScope::kServer, ErrorAction::kRediscover},
    {"MASTERDOWN", ErrorScope::kServer, ErrorAction::kRediscover},
    {"READONLY", ErrorScope::kServer, ErrorAction::kRediscover},
    {"NOREPLICAS", ErrorScope::kServer, ErrorAction::kUnavailable},
    {"MISCONF", ErrorScope::kServer, ErrorAction::kUnavailable},
    {"OOM", ErrorScope::kServer, ErrorAction::kUnavailable},
    {"BUSY", ErrorScope::kServer, ErrorAction::kNone},
    {"NOAUTH", ErrorScope::kServer, ErrorAction::kNone},
    {"WRONGPASS", ErrorScope::kServer, ErrorAction::kNone},
    {"NOPERM", ErrorScope::kServer, ErrorAction::kNone},
    {"DENIED", ErrorScope::kServer, ErrorAction::kNone},
}};

/// Errors without a code of their own. The ACL of the user forbids a command in a script: in Redis
/// 7, and in Redis 8 and Valkey.
constexpr std::array<std::string_view, 2> kForbiddenInScript{"The user executing the script",
                                                             "ACL failure in script"};
/// Redis closes the connection. Without a password, it answers a long command with "Protocol error:
/// unauthenticated multibulk length" instead of NOAUTH.
constexpr std::array<std::string_view, 2> kOfConnection{"max number of clients", "Protocol error"};

/// The message without the position in a script: "ERR Error running script (call to f_…): " and
/// "@user_script:12: @user_script: 12: -OOM …".
std::string_view without_place(std::string_view message) {
    constexpr std::string_view kScript = "@user_script";
    constexpr std::string_view kEnd = ": ";
    if (const auto at = message.rfind(kScript);
        at != message.npos && (message.starts_with("ERR ") || at < kScript.size() * 2)) {
        const auto place = message.substr(at + kScript.size());
        const auto digit = place.find_first_of("0123456789");
        const auto end = digit == place.npos ? place.npos : place.find(kEnd, digit);
        if (end != place.npos) {
            message = place.substr(end + kEnd.size());
        }
    }
    if (message.starts_with('-')) {
        message.remove_prefix(1);
    }
    return message;
}

std::string_view code_of(std::string_view message) {
    return message.substr(0, message.find_first_of(" \r\n"));
}

/// The words after the code ERR, or the whole message if it has another code.
std::string_view without_generic_code(std::string_view message) {
    const auto code = code_of(message);
    return code == "ERR" ? message.substr(std::min(code.size() + 1, message.size())) : message;
}

bool begins_with_any(std::string_view message, std::span<const std::string_view> beginnings) {
    const auto words = without_generic_code(without_place(message));
    return std::ranges::any_of(beginnings,
                               [&](std::string_view begin) { return words.starts_with(begin); });
}

}  // namespace

ErrorScope error_scope(std::string_view message) noexcept {
    if (begins_with_any(message, kForbiddenInScript) || begins_with_any(message, kOfConnection)) {
        return ErrorScope::kServer;
    }
    const auto text = without_place(message);
    const auto code = code_of(text);
    if (code == "NOPERM" && text.find(" access ") != text.npos) {
        return ErrorScope::kCommand;  // "… no permissions to access one of the keys …"
    }
    const auto* const known = std::ranges::find(kCodes, code, &ErrorCode::code);
    return known == kCodes.end() ? ErrorScope::kCommand : known->scope;
}

ErrorAction error_action(std::string_view message) noexcept {
    const auto code = code_of(without_place(message));
    const auto* const known = std::ranges::find(kCodes, code, &ErrorCode::code);
    return known == kCodes.end() ? ErrorAction::kNone : known->action;
}

std::string error_codes_with_action() {
    std::string codes(" ");
    for (const ErrorCode& known : kCodes) {
        if (known.action != ErrorAction::kNone) {
            codes.append(known.code).append(" ");
        }
    }
    return codes;
}

bool has_error_code(std::string_view message, std::string_view code) noexcept {
    return code_of(without_place(message)) == code;
}

bool is_forbidden(std::string_view message) noexcept {
    return has_error_code(message, "NOPERM") || begins_with_any(message, kForbiddenInScript);
}

bool is_denied(std::string_view message) noexcept {
    return is_forbidden(message) || message.starts_with("ERR unknown command");
}

bool is_lasting(std::string_view message) noexcept {
    return error_scope(message) == ErrorScope::kCommand || is_forbidden(message);
}

}  // namespace tollgate::redis
