#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace petstore {

enum class Resource { pets, pet, orders };

/// What a path names.
struct Route {
    Resource resource = Resource::pets;
    std::optional<std::int64_t> pet_id;  ///< of Resource::pet; nothing for one that no pet has
};

/// Where `path`, which follows the base path and begins with a slash, leads; nothing where there is
/// nothing. Any segment after `/pets/` names a pet, but what is no int64 is the id of none.
std::optional<Route> find_route(std::string_view path);

/// The methods of a resource, as the Allow header lists them (RFC 9110, section 10.2.1).
std::string_view allowed_methods(Resource resource);

}  // namespace petstore
