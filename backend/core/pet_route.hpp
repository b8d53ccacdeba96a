#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace petstore {

enum class Resource { pets, pet, orders };

/// What a path names.
struct Route {
    Resource resource = Resource::pets;
    std::int64_t pet_id = 0;  ///< of Resource::pet
};

/// Where `path`, which follows the base path and begins with a slash, leads; nothing where there is
/// nothing. What isn't an int64 is no pet's id.
std::optional<Route> find_route(std::string_view path);

/// The methods of a resource, as the Allow header lists them (RFC 9110, section 10.2.1).
std::string_view allowed_methods(Resource resource);

}  // namespace petstore
