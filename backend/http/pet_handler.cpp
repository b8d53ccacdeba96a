#include <string_view>

#include "backend/core/media_type.hpp"
#include "backend/core/new_pet.hpp"
#include "backend/core/pet_query.hpp"
#include "backend/core/pet_route.hpp"
#include "backend/http/pet_body.hpp"
#include "backend/http/pet_location.hpp"
#include "backend/http/pet_reply.hpp"

namespace petstore {
namespace {

PetLocation& location_of(ngx_http_request_t* r) {
    return *static_cast<PetLocation*>(ngx_http_get_module_loc_conf(r, ngx_http_petstore_module));
}

/// Runs `serve`, and answers what it refuses. Returns what it returns, or what sending returned.
template <typename Serve>
ngx_int_t or_refused(ngx_http_request_t* r, Serve serve) noexcept {
    return guarded<ngx_int_t>(NGX_HTTP_INTERNAL_SERVER_ERROR, [&]() -> ngx_int_t {
        try {
            return serve();
        } catch (const Refusal& refusal) {
            return send(r, refused(refusal.kind(), refusal.what()));
        }
    });
}

Call reading_call(ngx_http_request_t* r, const Route& route) {
    switch (route.resource) {
        case Resource::pets:
            return ListPets{parse_pet_query(view(r->args))};
        case Resource::orders:
            return ListOrders{};
        default:
            return FindPet{route.pet_id.value()};
    }
}

ngx_int_t read_pets(ngx_http_request_t* r, const Route& route) {
    if (route.resource == Resource::pet && !route.pet_id) {
        return send(r, pet_found({}));
    }
    location_of(r).backend->reads.submit(r, {reading_call(r, route), {}});
    r->main->count++;
    return NGX_DONE;
}

void add_pet(ngx_http_request_t* r, std::string_view body) noexcept {
    const ngx_int_t rc = or_refused(r, [&]() -> ngx_int_t {
        location_of(r).backend->writes.submit(r, {AddPet{parse_new_pet(body)}, {}});
        return NGX_AGAIN;
    });
    if (rc != NGX_AGAIN) {
        ngx_http_finalize_request(r, rc);
    }
}

ngx_int_t read_new_pet(ngx_http_request_t* r) {
    const ngx_table_elt_t* const type = r->headers_in.content_type;
    if (type == nullptr || !is_json(view(type->value))) {
        throw Refusal(kUnsupportedMediaType, "The Content-Type must be application/json.");
    }
    return read_body(r, location_of(r).max_body, add_pet);
}

}  // namespace

ngx_int_t handle_pets(ngx_http_request_t* r) noexcept {
    return or_refused(r, [&]() -> ngx_int_t {
        const auto route = find_route(view(r->uri).substr(location_of(r).base_size));
        if (!route) {
            throw Refusal(kNotFound, "There is nothing at this path.");
        }
        if ((r->method & (NGX_HTTP_GET | NGX_HTTP_HEAD)) != 0) {
            return read_pets(r, *route);
        }
        if (r->method == NGX_HTTP_POST && route->resource == Resource::pets) {
            return read_new_pet(r);
        }
        return send(r, method_not_allowed(allowed_methods(route->resource)));
    });
}

}  // namespace petstore
