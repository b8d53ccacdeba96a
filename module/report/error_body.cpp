#include "module/report/error_body.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <tuple>
#include <utility>

#include "module/text/ascii.hpp"
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

/// Calls `use` with each part between separators, without the spaces around it.
template <typename Use>
void for_each_part(std::string_view text, char separator, Use use) {
    while (!text.empty()) {
        const std::string_view part = text.substr(0, text.find(separator));
        text.remove_prefix(std::min(part.size() + 1, text.size()));
        const auto first = std::min(part.find_first_not_of(" \t"), part.size());
        use(part.substr(first, part.find_last_not_of(" \t") + 1 - first));
    }
}

/// The weight of a media type in `Accept`; 0 if it is not listed.
double weight(std::string_view accept, std::string_view type) {
    double most = 0;
    for_each_part(accept, ',', [&](std::string_view element) {
        bool is_type = true;
        bool is_listed = false;
        double its_weight = 1;
        for_each_part(element, ';', [&](std::string_view part) {
            if (is_type) {
                is_listed = equals_ignoring_case(part, type);
            } else if (part.size() > 2 && equals_ignoring_case(part.substr(0, 2), "q=")) {
                std::from_chars(part.data() + 2, part.data() + part.size(), its_weight,
                                std::chars_format::fixed);
            }
            is_type = false;
        });
        most = is_listed ? std::max(most, its_weight) : most;
    });
    return most;
}

}  // namespace

Error error_of_status(int status) {
    const auto found = std::ranges::find(kStatusErrors, status, &std::pair<int, Error>::first);
    return found == kStatusErrors.end() ? Error{"error", "The request failed."} : found->second;
}

ErrorFormat preferred_error_format(std::string_view accept) {
    const double problem = weight(accept, kProblemType);
    return problem > 0 && problem >= weight(accept, kErrorType) ? ErrorFormat::kProblem
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
