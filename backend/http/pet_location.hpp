#pragma once

#include <cstddef>
#include <string>

#include "backend/http/nginx.hpp"
#include "backend/http/pet_queue.hpp"

namespace petstore {

/// A database that locations serve, in each worker.
struct PetBackend {
    PetBackend(const std::string& path, ngx_thread_pool_t* pool)
        : path(path),
          pool(pool),
          reads(path, PetDatabase::Access::read, pool),
          writes(path, PetDatabase::Access::write, pool) {}

    std::string path;
    ngx_thread_pool_t* pool;
    PetQueue reads;
    PetQueue writes;
};

/// The configuration of a location; nginx's pool holds it.
struct PetLocation {
    PetBackend* backend;    ///< null where there is no `petstore` directive
    std::size_t base_size;  ///< length of the path before `/pets`, decoded
    std::size_t max_body;   ///< bytes
};

/// The configuration of a server.
struct PetServer {
    bool serves_pets;  ///< whether one of its locations has a `petstore` directive
};

/// The content handler of a location with a `petstore` directive.
ngx_int_t handle_pets(ngx_http_request_t* r) noexcept;

}  // namespace petstore
