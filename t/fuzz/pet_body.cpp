// The body of `POST pets`.

#include "backend/core/error.hpp"
#include "backend/core/pet_request.hpp"
#include "backend/core/pet_response.hpp"
#include "t/fuzz/fuzz_target.hpp"

namespace {

/// What a client gets for the body: a pet in JSON, whose members can be sent again.
void check_pet(std::string_view body) {
    const petstore::NewPet pet = petstore::parse_new_pet(body);
    const petstore::Pet created{
        .name = pet.name, .category_id = pet.category_id, .status = pet.status};
    const petstore::NewPet again = petstore::parse_new_pet(petstore::pet_created(created).body);
    tollgate::fuzz::require(again.name == pet.name && again.category_id == pet.category_id &&
                            again.status == pet.status);
}

}  // namespace

void tollgate::fuzz::check(std::string_view input) {
    try {
        check_pet(input);
    } catch (const petstore::RequestError& error) {
        require(error.kind().status == 400);
        // The message is part of a JSON text.
        petstore::error_response(error.kind(), error.what());
    }
}
