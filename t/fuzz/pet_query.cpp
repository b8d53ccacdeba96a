// The query of `GET pets`, a path, and a Content-Type.

#include "backend/core/error.hpp"
#include "backend/core/pet_request.hpp"
#include "t/fuzz/fuzz_target.hpp"

void tollgate::fuzz::check(std::string_view input) {
    petstore::find_route("/" + std::string(input));
    petstore::is_json(input);
    try {
        const petstore::PetQuery query = petstore::parse_pet_query(input);
        require(query.limit >= 1 && query.limit <= 100);
    } catch (const petstore::RequestError& error) {
        require(error.kind().status == 400);
    }
}
