#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace tollgate {

/// A type of problems with a name of its own: https://iana.org/assignments/http-problem-types#NAME.
struct ProblemType {
    std::string_view name;  ///< empty: about:blank, the problem is what the status says
    std::string_view title;
};

/// These are of draft-ietf-httpapi-ratelimit-headers.
constexpr ProblemType kQuotaExceeded{"quota-exceeded", "A quota is exceeded"};
constexpr ProblemType kAbnormalUsage{"abnormal-usage-detected", "Abnormal usage is detected"};

/// The contents of an error's body: a code for programs and a message for people.
struct Error {
    std::string_view code;
    std::string_view message;
    ProblemType problem{};
};

/// The code if what a client sent has a value missing, or an invalid one. The message says which.
constexpr std::string_view kInvalidRequest = "invalid_request";

constexpr Error kMissingApiKey{"missing_api_key",
                               "An API key is required: Authorization: Bearer <API_KEY>."};
/// The error for a missing API key where only fields other than `Authorization` have a key.
constexpr Error kMissingApiKeyField{
    "missing_api_key", "An API key is required, in the field that WWW-Authenticate names."};
constexpr Error kInvalidApiKey{"invalid_api_key", "The API key is not valid."};
constexpr Error kPlanNotAllowed{"plan_not_allowed",
                                "The plan of this API key does not include this resource."};
constexpr Error kInsufficientScope{
    "insufficient_scope", "This API key does not have the scope that this resource requires."};
constexpr Error kAddressNotAllowed{"address_not_allowed",
                                   "This API key may not be used from this address."};
constexpr Error kInvalidSubject{"invalid_subject",
                                "The identity of this client is not a valid id."};
constexpr Error kRateLimitExceeded{
    "rate_limit_exceeded", "The rate limit is exceeded; wait the number of seconds in Retry-After.",
    kQuotaExceeded};
constexpr Error kCostExceedsLimit{
    "cost_exceeds_limit",
    "This request costs more than the limit allows at once; it is refused at any time.",
    kQuotaExceeded};
constexpr Error kBalanceExhausted{
    "balance_exhausted", "Too few units are left of the balance of this API key.", kQuotaExceeded};
constexpr Error kTooManyInFlight{
    "too_many_in_flight",
    "Too many requests of this API key are in progress; wait until one of them has ended.",
    kQuotaExceeded};
constexpr Error kApiKeyBanned{"api_key_banned",
                              "The API key is temporarily banned for repeated requests after 429; "
                              "wait the number of seconds in Retry-After.",
                              kAbnormalUsage};
constexpr Error kServiceUnavailable{
    "service_unavailable",
    "The API key can't be checked right now; wait the number of seconds in Retry-After."};

/// The Error for a status that nginx itself generates: the reason phrase of RFC 9110, and a code
/// derived from it.
Error error_of_status(int status);

/// The formats of an error's body.
enum class ErrorFormat : std::uint8_t {
    kError,    ///< `{"code":…,"message":…,"status":…}`, and `policy` for a limit
    kProblem,  ///< RFC 9457, with `code`, and `violated-policies` for a limit
};

/// The format that a client prefers: kProblem if its `Accept` (RFC 9110 section 12.5.1) lists
/// application/problem+json, with at least the weight of application/json. Ranges such as `*/*`
/// stand for neither.
ErrorFormat preferred_error_format(std::string_view accept);

/// The value of `Content-Type` for a format.
std::string_view media_type(ErrorFormat format);

/// A limit that has refused a request. The texts live as long as the decision about the request.
struct Limiter {
    std::string_view table{};   ///< empty: none
    std::string_view policy{};  ///< its name in `RateLimit-Policy`: `free-minute`

    /// The value of `$tollgate_limited_by`: `api:free-minute`; empty for none. Throws
    /// std::bad_alloc.
    std::string text() const {
        return table.empty() ? std::string() : std::string(table).append(":").append(policy);
    }
};

/// The body for an error that no limit is named in. Each combination is rendered once and kept for
/// the life of the process; there are few. The texts of `error` must live as long. Not thread-safe.
const std::string& error_body(ErrorFormat format, const Error& error, int status);

/// The body for a request that a limit has refused. It is rendered for each request.
std::string error_body(ErrorFormat format, const Error& error, int status, const Limiter& limiter);

}  // namespace tollgate
