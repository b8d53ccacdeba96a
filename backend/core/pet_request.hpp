#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "backend/core/pet.hpp"

namespace petstore {

/// What a path of the service identifies.
enum class Resource : std::uint8_t {
    kPets,   ///< /pets
    kPet,    ///< /pets/{petId}
    kOrders  ///< /store/orders
};

/// The resource that a path identifies.
struct Route {
    Resource resource = Resource::kPets;
    /// Resource::kPet only. Nothing if the segment is no int64: no pet has such an id.
    std::optional<std::int64_t> pet_id;
};

/// The route of `path`: the part of a request's path after the base path. It begins with a slash.
/// Any single segment after `/pets/` is a pet's. Nothing if the service has no such path.
std::optional<Route> find_route(std::string_view path);

/// The methods of a resource, as the value of the Allow field (RFC 9110, section 10.2.1).
std::string_view allowed_methods(Resource resource);

/// Whether a Content-Type is `application/json`, with any parameters (RFC 9110, section 8.3.1).
bool is_json(std::string_view content_type);

/// Parses the query string of `GET pets`, without the `?`. It is encoded as
/// application/x-www-form-urlencoded. Unknown parameters are ignored. Throws RequestError
/// (kInvalidParameter) for an invalid value and for a parameter that occurs twice.
PetQuery parse_pet_query(std::string_view query);

/// The depth of nesting that parse_new_pet() accepts. A NewPet has a depth of one.
inline constexpr int kMaxJsonDepth = 100;

/// Parses the body of `POST pets`. Members that NewPet doesn't have are ignored. Throws
/// RequestError: kInvalidJson (also for invalid UTF-8), kMissingField, kInvalidField,
/// kDuplicateField.
NewPet parse_new_pet(std::string_view body);

}  // namespace petstore
