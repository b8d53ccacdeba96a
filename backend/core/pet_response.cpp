#include "backend/core/pet_response.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <climits>
#include <cstddef>
#include <nlohmann/json.hpp>
#include <utility>

namespace petstore {
namespace {

using std::string_view_literals::operator""sv;

// The service's description has a date of removal, but none of deprecation. The backend takes
// 2025-12-05T00:00:00Z, five years before the removal.
constexpr std::array<ConstantField, 3> kFieldsOfDeprecation{{
    {"Deprecation", "@1764892800"},
    {"Sunset", "Thu, 05 Dec 2030 00:00:00 GMT"},
    {"Link", R"(<../pets>; rel="successor-version")"},
}};

constexpr std::size_t kUsualPetSize = 80;  ///< bytes in JSON

constexpr std::string_view kRetryAfterSeconds = "5";

/// Whether no character needs an escape or a check as UTF-8. For each of printable ASCII, a table
/// is faster than comparisons.
bool is_plain(std::string_view text) {
    static constexpr auto kIsPlain = [] {
        std::array<bool, 1U << CHAR_BIT> is_plain{};
        for (unsigned char c = ' '; c <= '~'; ++c) {
            is_plain[c] = c != '"' && c != '\\';
        }
        return is_plain;
    }();
    return std::all_of(text.begin(), text.end(),
                       [](char c) { return kIsPlain[static_cast<unsigned char>(c)]; });
}

void append_number(std::string& out, std::int64_t number) {
    constexpr std::size_t kLongest = std::string_view("-9223372036854775808").size();
    // NOLINTNEXTLINE(cppcoreguidelines-pro-type-member-init): to_chars fills it
    std::array<char, kLongest> text;
    const char* const end = std::to_chars(text.data(), text.data() + text.size(), number).ptr;
    out += std::string_view(text.data(), end);
}

/// Appends a JSON string. Printable ASCII is the usual case. Invalid UTF-8 becomes U+FFFD: another
/// program may have written it to the database.
void append_string(std::string& out, std::string_view text) {
    if (is_plain(text)) {
        out += '"';
        out += text;
        out += '"';
    } else {
        constexpr auto kReplace = nlohmann::json::error_handler_t::replace;
        out += nlohmann::json(text).dump(-1, ' ', false, kReplace);
    }
}

void append_pet(std::string& out, const Pet& pet) {
    // Literals as views: their length is known to the compiler.
    out += R"({"id":)"sv;
    append_number(out, pet.id);
    out += R"(,"name":)"sv;
    append_string(out, pet.name);
    out += R"(,"categoryId":)"sv;
    append_number(out, pet.category_id);
    if (pet.status) {
        out += R"(,"status":")"sv;
        out += to_string(*pet.status);
        out += '"';
    }
    out += '}';
}

void append_error(std::string& out, ErrorKind kind, std::string_view message) {
    out += R"({"code":)";
    append_string(out, kind.code);
    out += R"(,"message":)";
    append_string(out, message);
    out += R"(,"status":)";
    out += std::to_string(kind.status);
    out += '}';
}

}  // namespace

Response pet_created(const Pet& pet) {
    Response response{.status = 201, .body = {}, .fields = {}, .constant_fields = {}};
    append_pet(response.body, pet);
    response.fields.push_back({"Location", "pets/" + std::to_string(pet.id)});
    return response;
}

Response pet_found(const Pet& pet) {
    Response response;
    response.body.reserve(kUsualPetSize + pet.name.size());
    append_pet(response.body, pet);
    response.constant_fields = kFieldsOfDeprecation;
    return response;
}

Response pet_not_found() {
    Response response = error_response(kPetNotFound, "There is no pet with this id.");
    response.constant_fields = kFieldsOfDeprecation;
    return response;
}

PetPage::PetPage(const PetQuery& query) : query_(query) {
    body_.reserve(static_cast<std::size_t>(query.limit) * kUsualPetSize);
}

void PetPage::add(const Pet& pet) {
    if (count_++ < query_.limit) {
        body_ += body_.size() == 1 ? "" : ",";
        append_pet(body_, pet);
        last_id_ = pet.id;
    }
}

Response PetPage::response() && {
    Response response{.status = 200, .body = std::move(body_), .fields = {}, .constant_fields = {}};
    response.body += ']';
    if (count_ > query_.limit) {
        std::string link = "<?limit=" + std::to_string(query_.limit);
        if (query_.status) {
            link += "&status=";
            link += to_string(*query_.status);
        }
        link += "&after=" + std::to_string(last_id_) + ">; rel=\"next\"";
        response.fields.push_back({"Link", std::move(link)});
    }
    return response;
}

Response orders_listed(std::string array) {
    return {.status = 200, .body = std::move(array), .fields = {}, .constant_fields = {}};
}

Response method_not_allowed(std::string_view allowed) {
    Response response = error_of_status(kMethodNotAllowed.status);
    response.fields.push_back({"Allow", std::string{allowed}});
    return response;
}

Response error_response(ErrorKind kind, std::string_view message) {
    Response response{.status = kind.status, .body = {}, .fields = {}, .constant_fields = {}};
    append_error(response.body, kind, message);
    if (kind.status == kDatabaseUnavailable.status) {
        response.fields.push_back({"Retry-After", std::string{kRetryAfterSeconds}});
    }
    return response;
}

Response error_of_status(int status) {
    switch (status) {
        case kBadRequest.status:
            return error_response(kBadRequest, "The request is malformed.");
        case kForbidden.status:
            return error_response(kForbidden, "This request is not allowed here.");
        case kNotFound.status:
            return error_response(kNotFound, "There is nothing at this path.");
        case kMethodNotAllowed.status:
            return error_response(kMethodNotAllowed, "This resource doesn't have this method.");
        case kRequestTimeout.status:
            return error_response(kRequestTimeout, "The request did not arrive in time.");
        case kLengthRequired.status:
            return error_response(kLengthRequired, "The request must have a Content-Length.");
        case kBodyTooLarge.status:
            return error_response(kBodyTooLarge, "The body is too long.");
        case kUriTooLong.status:
            return error_response(kUriTooLong, "The URI is too long.");
        case kInternalError.status:
            return error_response(kInternalError, "The request could not be served.");
        default:
            return error_response(
                {status, status < kInternalError.status ? "refused" : "unavailable"},
                "The request could not be served.");
    }
}

}  // namespace petstore
