#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace petstore {

enum class PetStatus { available, pending, sold };

/// The names of PetStatus, in its order.
inline constexpr std::array<std::string_view, 3> kPetStatusNames{"available", "pending", "sold"};

constexpr std::string_view to_string(PetStatus status) {
    return kPetStatusNames[static_cast<std::size_t>(status)];
}

/// The status of that name (case matters), or nothing.
constexpr std::optional<PetStatus> parse_pet_status(std::string_view name) {
    for (std::size_t i = 0; i < kPetStatusNames.size(); ++i) {
        if (kPetStatusNames[i] == name) {
            return static_cast<PetStatus>(i);
        }
    }
    return std::nullopt;
}

/// What a client sends to add an animal.
struct NewPet {
    std::string name;  ///< valid UTF-8; may be empty and may hold NUL
    std::int64_t category_id = 0;
    std::optional<PetStatus>
        status;  ///< stays absent where it wasn't given: no default is specified
};

/// An animal as it is stored and returned.
struct Pet : NewPet {
    std::int64_t id = 0;
};

}  // namespace petstore
