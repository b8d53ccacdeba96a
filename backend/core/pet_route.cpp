#include "backend/core/pet_route.hpp"

#include "backend/core/decimal.hpp"

namespace petstore {

std::optional<Route> find_route(std::string_view path) {
    constexpr std::string_view kPet = "/pets/";

    if (path == "/pets") {
        return Route{Resource::pets, {}};
    }
    if (path == "/store/orders") {
        return Route{Resource::orders, {}};
    }
    if (path.starts_with(kPet)) {
        const std::string_view id = path.substr(kPet.size());
        if (!id.empty() && id.find('/') == std::string_view::npos) {
            return Route{Resource::pet, parse_decimal(id)};
        }
    }
    return std::nullopt;
}

std::string_view allowed_methods(Resource resource) {
    return resource == Resource::pets ? "GET, HEAD, POST" : "GET, HEAD";
}

}  // namespace petstore
