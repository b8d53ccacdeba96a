#include "backend/core/pet_request.hpp"

#include <charconv>
#include <cstddef>
#include <string>

#include "backend/core/error.hpp"
#include "backend/core/integer.hpp"
#include "module/text/ascii.hpp"
#include "module/text/whole_number.hpp"

namespace petstore {
namespace {

constexpr int kMaxLimit = 100;

/// Decodes `+` and percent-encoded bytes. A `%` without two hexadecimal digits is kept, as the URL
/// standard specifies.
std::string decode(std::string_view text) {
    constexpr std::size_t kEscapeLength = 3;
    std::string decoded;
    decoded.reserve(text.size());
    while (!text.empty()) {
        unsigned char byte = 0;
        if (text[0] == '%' && text.size() >= kEscapeLength &&
            std::from_chars(&text[1], text.data() + kEscapeLength, byte, 16).ptr ==
                text.data() + kEscapeLength) {
            decoded += static_cast<char>(byte);
            text.remove_prefix(kEscapeLength);
        } else {
            decoded += text[0] == '+' ? ' ' : text[0];
            text.remove_prefix(1);
        }
    }
    return decoded;
}

/// Takes the decoded parameters of a query one by one.
class PetQueryParser {
  public:
    void take(std::string_view name, std::string_view value) {
        if (name == "limit") {
            set_once(has_limit_, name);
            const auto limit = tollgate::parse_whole_number(value, 1, kMaxLimit);
            if (!limit) {
                throw RequestError(kInvalidParameter,
                                   R"("limit" must be an integer from 1 to 100.)");
            }
            query_.limit = static_cast<int>(*limit);
        } else if (name == "status") {
            set_once(has_status_, name);
            query_.status = parse_pet_status(value);
            if (!query_.status) {
                throw RequestError(kInvalidParameter,
                                   R"("status" must be one of "available", "pending" and "sold".)");
            }
        } else if (name == "after") {
            set_once(has_after_, name);
            const auto after = parse_int64(value);
            if (!after) {
                throw RequestError(kInvalidParameter,
                                   R"("after" must be the id of a pet, an integer.)");
            }
            query_.after = *after;
        }
    }

    PetQuery result() const { return query_; }

  private:
    /// Throws if the parameter has occurred before.
    static void set_once(bool& seen, std::string_view name) {
        if (seen) {
            throw RequestError(kInvalidParameter,
                               '"' + std::string{name} + "\" is given more than once.");
        }
        seen = true;
    }

    PetQuery query_;
    bool has_limit_ = false;
    bool has_status_ = false;
    bool has_after_ = false;
};

}  // namespace

std::optional<Route> find_route(std::string_view path) {
    constexpr std::string_view kPet = "/pets/";

    if (path == "/pets") {
        return Route{Resource::kPets, {}};
    }
    if (path == "/store/orders") {
        return Route{Resource::kOrders, {}};
    }
    if (path.starts_with(kPet)) {
        const std::string_view id = path.substr(kPet.size());
        if (!id.empty() && id.find('/') == std::string_view::npos) {
            return Route{Resource::kPet, parse_int64(id)};
        }
    }
    return std::nullopt;
}

std::string_view allowed_methods(Resource resource) {
    return resource == Resource::kPets ? "GET, HEAD, POST" : "GET, HEAD";
}

bool is_json(std::string_view content_type) {
    std::string_view type = content_type.substr(0, content_type.find(';'));
    while (type.ends_with(' ') || type.ends_with('\t')) {
        type.remove_suffix(1);
    }
    return tollgate::equals_ignoring_case(type, "application/json");
}

PetQuery parse_pet_query(std::string_view query) {
    PetQueryParser parser;
    while (!query.empty()) {
        const std::string_view pair = query.substr(0, query.find('&'));
        query.remove_prefix(pair.size() == query.size() ? pair.size() : pair.size() + 1);
        const std::string_view name = pair.substr(0, pair.find('='));
        const std::string_view value =
            name.size() == pair.size() ? std::string_view{} : pair.substr(name.size() + 1);
        parser.take(decode(name), decode(value));
    }
    return parser.result();
}

}  // namespace petstore
