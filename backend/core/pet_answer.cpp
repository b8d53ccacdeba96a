#include "backend/core/pet_answer.hpp"

#include <cstddef>
#include <utility>

#include "backend/core/pet_json.hpp"

namespace petstore {
namespace {

// The service's description names the end of the operation, but not since when it is deprecated:
// since five years before, 2025-12-05T00:00:00Z.
constexpr std::string_view kDeprecation = "@1764892800";
constexpr std::string_view kSunset = "Thu, 05 Dec 2030 00:00:00 GMT";

constexpr std::string_view kRetryAfterSeconds = "5";

}  // namespace

Answer pet_added(const Pet& pet) {
    Answer answer{.status = 201, .body = {}, .headers = {}};
    append_json(answer.body, pet);
    answer.headers.push_back({"Location", "pets/" + std::to_string(pet.id)});
    return answer;
}

Answer pet_found(const std::optional<Pet>& pet) {
    Answer answer;
    if (pet) {
        append_json(answer.body, *pet);
    } else {
        answer = refused(kPetNotFound, "There is no pet with this id.");
    }
    answer.headers.push_back({"Deprecation", std::string{kDeprecation}});
    answer.headers.push_back({"Sunset", std::string{kSunset}});
    answer.headers.push_back({"Link", R"(<../pets>; rel="successor-version")"});
    return answer;
}

PetPage::PetPage(const PetQuery& query) : query_(query) {
    constexpr std::size_t kUsualPet = 80;
    body_.reserve(static_cast<std::size_t>(query.limit) * kUsualPet);
}

void PetPage::add(const Pet& pet) {
    if (count_++ < query_.limit) {
        body_ += body_.size() == 1 ? "" : ",";
        append_json(body_, pet);
        last_id_ = pet.id;
    }
}

Answer PetPage::answer() && {
    Answer answer{.status = 200, .body = std::move(body_), .headers = {}};
    answer.body += ']';
    if (count_ > query_.limit) {
        std::string link = "<?limit=" + std::to_string(query_.limit);
        if (query_.status) {
            link += "&status=";
            link += to_string(*query_.status);
        }
        link += "&after=" + std::to_string(last_id_) + ">; rel=\"next\"";
        answer.headers.push_back({"Link", std::move(link)});
    }
    return answer;
}

Answer orders_listed(std::string array) {
    return {.status = 200, .body = std::move(array), .headers = {}};
}

Answer method_not_allowed(std::string_view allowed) {
    Answer answer = refused(kMethodNotAllowed, "This resource doesn't have this method.");
    answer.headers.push_back({"Allow", std::string{allowed}});
    return answer;
}

Answer error_of_nginx(int status) {
    switch (status) {
        case 400:
            return refused(kBadRequest, "The request is malformed.");
        case 403:
            return refused(kForbidden, "This request is not allowed here.");
        case 404:
            return refused(kNotFound, "There is nothing at this path.");
        case 405:
            return refused(kMethodNotAllowed, "This resource doesn't have this method.");
        case 408:
            return refused(kRequestTimeout, "The request did not arrive in time.");
        case 411:
            return refused(kLengthRequired, "The request must have a Content-Length.");
        case 413:
            return refused(kBodyTooLarge, "The body is too long.");
        case 414:
            return refused(kUriTooLong, "The URI is too long.");
        case kInternalError.status:
            return refused(kInternalError, "The request could not be served.");
        default:
            return refused({status, status < kInternalError.status ? "refused" : "unavailable"},
                           "The request could not be served.");
    }
}

Answer refused(ErrorKind kind, std::string_view message) {
    Answer answer{.status = kind.status, .body = {}, .headers = {}};
    append_error_json(answer.body, kind, message);
    if (kind.status == kDatabaseUnavailable.status) {
        answer.headers.push_back({"Retry-After", std::string{kRetryAfterSeconds}});
    }
    return answer;
}

}  // namespace petstore
