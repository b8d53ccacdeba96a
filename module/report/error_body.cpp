#include "module/report/error_body.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <tuple>
#include <utility>

#include "module/text/accept.hpp"
#include "module/text/json_writer.hpp"

namespace tollgate {

namespace {

constexpr std::string_view kErrorType = "application/json";
constexpr std::string_view kProblemType = "application/problem+json";

constexpr std::array<std::pair<int, Error>, 27> kStatusErrors{{
    {400, {"bad_request", "Bad Request"}},
    {401, {"unauthorized", "Unauthorized"}},
    {402, {"payment_required", "Payment Required"}},
    {403, {"forbidden", "Forbidden"}},
    {404, {"not_found", "Not Found"}},
    {405, {"method_not_allowed", "Method Not Allowed"}},
    {406, {"not_acceptable", "Not Acceptable"}},
    {408, {"request_timeout", "Request Timeout"}},
    {409, {"conflict", "Conflict"}},
    {410, {"gone", "Gone"}},
    {411, {"length_required", "Length Required"}},
    {412, {"precondition_failed", "Precondition Failed"}},
    {413, {"content_too_large", "Content Too Large"}},
    {414, {"uri_too_long", "URI Too Long"}},
    {415, {"unsupported_media_type", "Unsupported Media Type"}},
    {416, {"range_not_satisfiable", "Range Not Satisfiable"}},
    {421, {"misdirected_request", "Misdirected Request"}},
    {429, {"too_many_requests", "Too Many Requests"}},
    {431, {"request_header_fields_too_large", "Request Header Fields Too Large"}},
    {500, {"internal_server_error", "Internal Server Error"}},
    {501, {"not_implemented", "Not Implemented"}},
    {502, {"bad_gateway", "Bad Gateway"}},
    {503, {"service_unavailable", "Service Unavailable"}},
    {504, {"gateway_timeout", "Gateway Timeout"}},
    {505, {"http_version_not_supported", "HTTP Version Not Supported"}},
    {507, {"insufficient_storage", "Insufficient Storage"}},
    {511, {"network_authentication_required", "Network Authentication Required"}},
}};

void write_error(JsonWriter& json, const Error& error, int status, const Limiter& limiter) {
    json.member("code", error.code);
    json.member("message", error.message);
    json.member("status", status);
    if (!limiter.table.empty()) {
        json.member("policy", limiter.text());
    }
}

/// RFC 9457 section 3.1. A problem without a type has the title of its status (section 4.2.1).
void write_problem(JsonWriter& json, const Error& error, int status, const Limiter& limiter) {
    if (error.problem.name.empty()) {
        json.member("type", "about:blank");
        json.member("title", error_of_status(status).message);
    } else {
        json.member("type", std::string("https://iana.org/assignments/http-problem-types#")
                                .append(error.problem.name));
        json.member("title", error.problem.title);
    }
    json.member("status", status);
    json.member("detail", error.message);
    json.member("code", error.code);
    if (!limiter.table.empty()) {
        json.array("violated-policies", [&] { json.value(limiter.policy); });
    }
}

}  // namespace

Error error_of_status(int status) {
    const auto found = std::ranges::find(kStatusErrors, status, &std::pair<int, Error>::first);
    return found == kStatusErrors.end() ? Error{"error", "The request failed."} : found->second;
}

ErrorFormat preferred_error_format(std::string_view accept) {
    const auto problem = accept_weight(accept, kProblemType);
    return problem > 0 && problem >= accept_weight(accept, kErrorType) ? ErrorFormat::kProblem
                                                                       : ErrorFormat::kError;
}

std::string_view media_type(ErrorFormat format) {
    return format == ErrorFormat::kProblem ? kProblemType : kErrorType;
}

const std::string& error_body(ErrorFormat format, const Error& error, int status) {
    static std::map<std::tuple<ErrorFormat, int, std::string_view, std::string_view>, std::string>
        bodies;
    std::string& body = bodies[{format, status, error.code, error.message}];
    if (body.empty()) {
        body = error_body(format, error, status, {});
    }
    return body;
}

std::string error_body(ErrorFormat format, const Error& error, int status, const Limiter& limiter) {
    JsonWriter json;
    json.object([&] {
        if (format == ErrorFormat::kProblem) {
            write_problem(json, error, status, limiter);
        } else {
            write_error(json, error, status, limiter);
        }
    });
    return std::move(json).take();
}

}  // namespace tollgate
