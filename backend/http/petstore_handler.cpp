#include <string>
#include <string_view>

#include "backend/core/error.hpp"
#include "backend/core/pet_request.hpp"
#include "backend/http/petstore_conf.hpp"
#include "backend/http/response_output.hpp"
#include "module/nginx/request_body.hpp"

namespace petstore {
namespace {

/// Calls `handle`, and sends an error response if it throws RequestError. Returns the result of
/// `handle`, or what a content handler returns.
template <typename Handle>
ngx_int_t with_error_response(ngx_http_request_t* r, Handle handle) noexcept {
    return guarded<ngx_int_t>(
        r->connection->log, NGX_HTTP_INTERNAL_SERVER_ERROR, [&]() -> ngx_int_t {
            try {
                return handle();
            } catch (const RequestError& error) {
                return send_response(r, error_response(error.kind(), error.what()));
            }
        });
}

Operation read_operation(ngx_http_request_t* r, const Route& route) {
    switch (route.resource) {
        case Resource::kPets:
            return ListPets{parse_pet_query(view(r->args))};
        case Resource::kOrders:
            return ListOrders{};
        default:
            return GetPet{route.pet_id.value()};
    }
}

/// Handles GET and HEAD.
ngx_int_t handle_read(ngx_http_request_t* r, const Route& route) {
    if (route.resource == Resource::kPet && !route.pet_id) {
        return send_response(r, pet_not_found());
    }
    LocationConf::of(r).queues->reads.push(r, read_operation(r, route));
    r->main->count++;
    return NGX_DONE;
}

RequestError body_too_large(std::size_t limit) {
    return {kBodyTooLarge, "The body must not be longer than " + std::to_string(limit) + " bytes."};
}

void handle_body(ngx_http_request_t* r, ngx_int_t status, std::string_view body) noexcept {
    const ngx_int_t rc = with_error_response(r, [&]() -> ngx_int_t {
        if (status == NGX_HTTP_REQUEST_ENTITY_TOO_LARGE) {
            throw body_too_large(LocationConf::of(r).max_body);
        }
        if (status != NGX_OK) {
            return status;
        }
        LocationConf::of(r).queues->writes.push(r, CreatePet{parse_new_pet(body)});
        return NGX_AGAIN;
    });
    if (rc != NGX_AGAIN) {
        ngx_http_finalize_request(r, rc);
    }
}

/// Handles `POST pets`.
ngx_int_t handle_create(ngx_http_request_t* r) {
    const ngx_table_elt_t* const type = r->headers_in.content_type;
    if (type == nullptr || !is_json(view(type->value))) {
        throw RequestError(kUnsupportedMediaType, "The Content-Type must be application/json.");
    }
    const auto limit = LocationConf::of(r).max_body;
    const ngx_int_t rc = tollgate::nginx::read_request_body(r, limit, handle_body);
    if (rc == NGX_HTTP_REQUEST_ENTITY_TOO_LARGE) {
        throw body_too_large(limit);
    }
    return rc;
}

}  // namespace

ngx_int_t handle_petstore(ngx_http_request_t* r) noexcept {
    return with_error_response(r, [&]() -> ngx_int_t {
        const auto route = find_route(view(r->uri).substr(LocationConf::of(r).base_length));
        if (!route) {
            return send_response(r, error_of_status(NGX_HTTP_NOT_FOUND));
        }
        if ((r->method & (NGX_HTTP_GET | NGX_HTTP_HEAD)) != 0) {
            return handle_read(r, *route);
        }
        if (r->method == NGX_HTTP_POST && route->resource == Resource::kPets) {
            return handle_create(r);
        }
        return send_response(r, method_not_allowed(allowed_methods(route->resource)));
    });
}

}  // namespace petstore
