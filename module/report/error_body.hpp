#pragma once

#include <string>
#include <string_view>

namespace tollgate {

/// The contents of an Error body: a code for programs and a message for people.
struct Error {
    std::string_view code;
    std::string_view message;
};

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
    "rate_limit_exceeded",
    "The rate limit is exceeded; wait the number of seconds in Retry-After."};
constexpr Error kCostExceedsLimit{
    "cost_exceeds_limit",
    "This request costs more than the limit allows at once; it is refused at any time."};
constexpr Error kTooManyInFlight{
    "too_many_in_flight",
    "Too many requests of this API key are in progress; wait until one of them has ended."};
constexpr Error kApiKeyBanned{"api_key_banned",
                              "The API key is temporarily banned for repeated requests after 429; "
                              "wait the number of seconds in Retry-After."};
constexpr Error kServiceUnavailable{
    "service_unavailable",
    "The API key can't be checked right now; wait the number of seconds in Retry-After."};

/// The Error for a status that nginx itself generates: the reason phrase of RFC 9110, and a code
/// derived from it.
Error error_of_status(int status);

/// An Error body (JSON): `{"code":…,"message":…,"status":…}`. Each combination of error and status
/// is rendered once and kept for the life of the process; there are few. The texts of `error` must
/// live as long. Not thread-safe.
const std::string& error_body(const Error& error, int status);

/// The body for a request that a limit has refused, with the name of the limit as the member
/// `policy`. It is rendered for each request.
std::string error_body(const Error& error, int status, std::string_view policy);

}  // namespace tollgate
