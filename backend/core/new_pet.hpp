#pragma once

#include <string_view>

#include "backend/core/pet.hpp"

namespace petstore {

/// Nesting beyond this is refused; a pet needs a depth of one.
inline constexpr int kMaxJsonDepth = 100;

/// The pet in a request's body. Members that NewPet doesn't have are ignored.
/// Throws Refusal: kInvalidJson (also for invalid UTF-8), kMissingField, kInvalidField,
/// kDuplicateField.
NewPet parse_new_pet(std::string_view body);

}  // namespace petstore
