#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>

#include "backend/core/pet.hpp"

namespace petstore {

/// What `GET pets` was asked for.
struct PetQuery {
    int limit = 20;  ///< 1 to 100
    std::optional<PetStatus> status;
    std::int64_t after = std::numeric_limits<std::int64_t>::min();  ///< only ids above it
};

/// Reads a query string: what follows the `?`, encoded as application/x-www-form-urlencoded. Other
/// parameters are ignored. Throws Refusal (kInvalidParameter), also for one that is given twice.
PetQuery parse_pet_query(std::string_view query);

}  // namespace petstore
