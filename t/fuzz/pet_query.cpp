// The query of `GET pets`, a path, and a Content-Type.

#include <algorithm>
#include <limits>
#include <string>

#include "backend/core/error.hpp"
#include "backend/core/pet_request.hpp"
#include "module/text/ascii.hpp"
#include "t/fuzz/fuzz_target.hpp"

namespace tollgate::fuzz {

namespace {

using petstore::Resource;

/// Whether the text is an int64, as to_string() writes it or with zeros before it.
bool is_int64(std::string_view text, std::int64_t number) {
    const std::string digits = std::to_string(number);
    const std::string_view magnitude = std::string_view(digits).substr(number < 0 ? 1 : 0);
    const bool has_sign = text.starts_with('-');
    text.remove_prefix(has_sign ? 1 : 0);
    return text.ends_with(magnitude) && has_sign == (number < 0 || (has_sign && number == 0)) &&
           text.substr(0, text.size() - magnitude.size()).find_first_not_of('0') == text.npos;
}

void check_path(const std::string& path) {
    constexpr std::string_view kPets = "/pets/";
    const auto route = petstore::find_route(path);
    const bool is_pet = path.starts_with(kPets) && path.size() > kPets.size() &&
                        path.find('/', kPets.size()) == std::string::npos;
    require(route.has_value() == (is_pet || path == "/pets" || path == "/store/orders"));
    if (route) {
        require((route->resource == Resource::kPet) == is_pet);
        require((route->resource == Resource::kPets) == (path == "/pets"));
        require(!route->pet_id ||
                (is_pet && is_int64(std::string_view(path).substr(kPets.size()), *route->pet_id)));
    }
}

void check_content_type(std::string_view type) {
    std::string lower(type.substr(0, type.find(';')));
    lower.resize(lower.find_last_not_of(" \t") + 1);
    std::ranges::transform(lower, lower.begin(), to_lower);
    require(petstore::is_json(type) == (lower == "application/json"));
}

/// A query with the same parameters in one form. Its values are their defaults where the first
/// query has none.
std::string written(const petstore::PetQuery& query) {
    std::string text = "limit=" + std::to_string(query.limit);
    if (query.status) {
        text.append("&status=").append(petstore::to_string(*query.status));
    }
    return text + "&after=" + std::to_string(query.after);
}

void check_query(std::string_view text) {
    const petstore::PetQuery query = petstore::parse_pet_query(text);
    require(query.limit >= 1 && query.limit <= 100);
    const petstore::PetQuery again = petstore::parse_pet_query(written(query));
    require(again.limit == query.limit && again.status == query.status &&
            again.after == query.after);
    const petstore::PetQuery defaults;
    require(text.find('=') != text.npos ||
            (query.limit == defaults.limit && !query.status && query.after == defaults.after));
}

}  // namespace

void check(std::string_view input) {
    check_path(std::string(input));
    check_path("/" + std::string(input));
    check_content_type(input);
    try {
        check_query(input);
    } catch (const petstore::RequestError& error) {
        require(error.kind().status == 400);
        require(!std::string_view(error.what()).empty());
    }
}

}  // namespace tollgate::fuzz
