#include "backend/http/response_output.hpp"

#include "module/nginx/response.hpp"

namespace petstore {

ngx_int_t send_response(ngx_http_request_t* r, const Response& response) {
    r->expect_tested = 1;
    if (const ngx_int_t rc = ngx_http_discard_request_body(r); rc != NGX_OK) {
        return rc;
    }
    r->headers_out.status = static_cast<ngx_uint_t>(response.status);
    tollgate::nginx::describe_body(r, "application/json", response.body.size());
    // Location is not set as headers_out.location: nginx would make an absolute URI from it
    // (`absolute_redirect`), with the name of this server instead of the proxy's.
    for (const Field& field : response.fields) {
        tollgate::nginx::add_field(r, field.name, field.value);
    }
    return tollgate::nginx::send_header_and_body(r, view(copy(r->pool, response.body)));
}

}  // namespace petstore
