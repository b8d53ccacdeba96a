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

using namespace std::string_view_literals;

// The service's description has a date of removal, but none of deprecation, which RFC 9745
// requires. The backend takes the day of the first release, which marks the operation as
// deprecated: 2026-11-21T00:00:00Z in conf/debian/changelog.
constexpr std::array<ConstantField, 3> kFieldsOfDeprecation{{
    {"Deprecation", "@1795219200"},
    {"Sunset", "Thu, 05 Dec 2030 00:00:00 GMT"},
    {"Link", R"(<../pets>; rel="successor-version")"},
}};

constexpr std::size_t kUsualPetSize = 80;  ///< bytes in JSON

constexpr std::size_t kFullPage = 1U << 20U;  ///< a longer page gets no more pets; in bytes

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

/// `text` with the escapes of a JSON string, without the quotes. `memory` holds it if it needs
/// escapes, which is unusual. Invalid UTF-8 becomes U+FFFD: another program may have written it to
/// the database.
std::string_view escape(std::string_view text, std::string& memory) {
    if (is_plain(text)) {
        return text;
    }
    constexpr auto kReplace = nlohmann::json::error_handler_t::replace;
    memory = nlohmann::json(text).dump(-1, ' ', false, kReplace);
    return std::string_view(memory).substr(1, memory.size() - 2);
}

/// Writes to memory that is large enough.
class Writer {
  public:
    explicit Writer(char* next) : next_(next) {}

    void text(std::string_view text) { next_ = std::copy(text.begin(), text.end(), next_); }
    void number(std::int64_t number) {
        next_ = std::to_chars(next_, next_ + kLongestNumber, number).ptr;
    }
    const char* next() const { return next_; }

    static constexpr std::size_t kLongestNumber = std::string_view("-9223372036854775808").size();

  private:
    char* next_;
};

/// Many appends to a string would take as long as reading the pet from the database.
void append_pet(std::string& out, const Pet& pet) {
    std::string memory;
    const std::string_view name = escape(pet.name, memory);
    constexpr std::size_t kMostWithoutName =
        R"({"id":,"name":"","categoryId":,"status":"available"})"sv.size() +
        2 * Writer::kLongestNumber;
    const std::size_t begin = out.size();
    out.resize(begin + kMostWithoutName + name.size());
    Writer writer(out.data() + begin);
    writer.text(R"({"id":)"sv);
    writer.number(pet.id);
    writer.text(R"(,"name":")"sv);
    writer.text(name);
    writer.text(R"(","categoryId":)"sv);
    writer.number(pet.category_id);
    if (pet.status) {
        writer.text(R"(,"status":")"sv);
        writer.text(to_string(*pet.status));
        writer.text(R"(")"sv);
    }
    writer.text("}"sv);
    out.resize(static_cast<std::size_t>(writer.next() - out.data()));
}

void append_error(std::string& out, ErrorKind kind, std::string_view message) {
    std::string memory;
    out += R"({"code":")";
    out += kind.code;
    out += R"(","message":")";
    out += escape(message, memory);
    out += R"(","status":)";
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

bool PetPage::add(const Pet& pet) {
    if (count_ == query_.limit || body_.size() > kFullPage) {
        has_next_ = true;
        return false;
    }
    ++count_;
    body_ += body_.size() == 1 ? "" : ",";
    append_pet(body_, pet);
    last_id_ = pet.id;
    return true;
}

Response PetPage::response() && {
    Response response{.status = 200, .body = std::move(body_), .fields = {}, .constant_fields = {}};
    response.body += ']';
    if (has_next_) {
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
