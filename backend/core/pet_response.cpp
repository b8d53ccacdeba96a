#include "backend/core/pet_response.hpp"

#include <algorithm>
#include <cstddef>
#include <nlohmann/json.hpp>
#include <utility>

namespace petstore {
namespace {

// The service's description has a date of removal, but none of deprecation. The backend takes
// 2025-12-05T00:00:00Z, five years before the removal.
constexpr std::string_view kDeprecation = "@1764892800";
constexpr std::string_view kSunset = "Thu, 05 Dec 2030 00:00:00 GMT";

constexpr std::string_view kRetryAfterSeconds = "5";

bool is_plain(char c) {
    return c >= ' ' && c <= '~' && c != '"' && c != '\\';
}

/// Appends a JSON string. Printable ASCII, the usual case, needs no escapes and no UTF-8 check.
/// Invalid UTF-8 becomes U+FFFD: another program may have written it to the database.
void append_string(std::string& out, std::string_view text) {
    if (std::all_of(text.begin(), text.end(), is_plain)) {
        out += '"';
        out += text;
        out += '"';
    } else {
        constexpr auto kReplace = nlohmann::json::error_handler_t::replace;
        out += nlohmann::json(text).dump(-1, ' ', false, kReplace);
    }
}

void append_pet(std::string& out, const Pet& pet) {
    out += R"({"id":)";
    out += std::to_string(pet.id);
    out += R"(,"name":)";
    append_string(out, pet.name);
    out += R"(,"categoryId":)";
    out += std::to_string(pet.category_id);
    if (pet.status) {
        out += R"(,"status":)";
        append_string(out, to_string(*pet.status));
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
    Response response{.status = 201, .body = {}, .fields = {}};
    append_pet(response.body, pet);
    response.fields.push_back({"Location", "pets/" + std::to_string(pet.id)});
    return response;
}

Response pet_found(const std::optional<Pet>& pet) {
    Response response;
    if (pet) {
        append_pet(response.body, *pet);
    } else {
        response = error_response(kPetNotFound, "There is no pet with this id.");
    }
    response.fields.push_back({"Deprecation", std::string{kDeprecation}});
    response.fields.push_back({"Sunset", std::string{kSunset}});
    response.fields.push_back({"Link", R"(<../pets>; rel="successor-version")"});
    return response;
}

PetPage::PetPage(const PetQuery& query) : query_(query) {
    constexpr std::size_t kUsualPetSize = 80;
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
    Response response{.status = 200, .body = std::move(body_), .fields = {}};
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
    return {.status = 200, .body = std::move(array), .fields = {}};
}

Response method_not_allowed(std::string_view allowed) {
    Response response = error_of_status(kMethodNotAllowed.status);
    response.fields.push_back({"Allow", std::string{allowed}});
    return response;
}

Response error_response(ErrorKind kind, std::string_view message) {
    Response response{.status = kind.status, .body = {}, .fields = {}};
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
