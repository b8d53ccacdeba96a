#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

namespace petstore {

/// PetStatus of the service's description.
enum class PetStatus : std::uint8_t { kAvailable, kPending, kSold };

/// The names of PetStatus in JSON, in queries and in the database, in its order.
inline constexpr std::array<std::string_view, 3> kPetStatusNames{"available", "pending", "sold"};

/// The name of the status.
constexpr std::string_view to_string(PetStatus status) {
    return kPetStatusNames[static_cast<std::size_t>(status)];
}

/// The status with this name, which is case-sensitive; nothing for any other text.
constexpr std::optional<PetStatus> parse_pet_status(std::string_view name) {
    for (std::size_t i = 0; i < kPetStatusNames.size(); ++i) {
        if (kPetStatusNames[i] == name) {
            return static_cast<PetStatus>(i);
        }
    }
    return std::nullopt;
}

/// NewPet: the body of `POST pets`.
struct NewPet {
    std::string name;  ///< valid UTF-8; may be empty and may contain NUL
    std::int64_t category_id = 0;
    std::optional<PetStatus> status;  ///< has no default: an absent status stays absent
};

/// Pet: a pet as the service returns it. The owner of the name says how long it is valid.
struct Pet {
    std::int64_t id = 0;
    std::string_view name;
    std::int64_t category_id = 0;
    std::optional<PetStatus> status;
};

/// The parameters of `GET pets`: one page of pets, in ascending order of ids.
struct PetQuery {
    int limit = 20;                                                 ///< pets in a page: 1 to 100
    std::optional<PetStatus> status;                                ///< only pets with this status
    std::int64_t after = std::numeric_limits<std::int64_t>::min();  ///< only ids above this one
};

}  // namespace petstore
