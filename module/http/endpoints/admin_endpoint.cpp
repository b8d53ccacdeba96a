#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "module/http/endpoints/endpoints.hpp"
#include "module/http/management/admin_tasks.hpp"
#include "module/http/request/key_fields.hpp"
#include "module/http/request/outcome_wait.hpp"
#include "module/http/request/request_context.hpp"
#include "module/http/worker.hpp"
#include "module/management/admin/admin_api.hpp"
#include "module/nginx/request_body.hpp"
#include "module/text/ascii.hpp"

namespace tollgate::http {

namespace {

// With a timer, a graceful shutdown waits for the request.
constexpr ngx_msec_t kOperationTimer =
    std::chrono::milliseconds(management::kLongestOperation).count();

/// A request and the response to it, whichever ends first.
struct Exchange final : public AdminClient {
    explicit Exchange(ngx_http_request_t* request) : r(request) {}

    bool is_waiting() const noexcept override { return r != nullptr; }
    void on_response(management::AdminResponse given) noexcept override {
        response = std::move(given);
        if (r != nullptr && is_suspended) {
            // The request must not run inside the reader of replies.
            ngx_post_event(r->connection->write, &ngx_posted_events);
        }
    }

    void on_refusal(const engine::Outcome& outcome) noexcept override {
        const bool is_kept = r == nullptr || guarded(r->connection->log, false, [&] {
                                 refusal = outcome;
                                 return true;
                             });
        on_response({.status = is_kept ? outcome.status : NGX_HTTP_INTERNAL_SERVER_ERROR});
    }

    ngx_http_request_t* r;  ///< nullptr once the request has ended
    bool is_suspended = false;
    std::optional<management::AdminResponse> response;
    std::optional<engine::Outcome> refusal;  ///< why the response is that of a refused key
};
using ExchangePtr = std::shared_ptr<Exchange>;

/// The context of a request that this location itself has granted. nullptr for a subrequest, for a
/// request that another location has granted before an internal redirect, and for an error page.
RequestContext* granted_here(const ngx_http_request_t* r) {
    auto* context = RequestContext::find_here(r);
    const bool is_granted = r == r->main && r->err_status < NGX_HTTP_BAD_REQUEST &&
                            r->error_page == 0 && context != nullptr &&
                            context->outcome().is_granted();
    return is_granted ? context : nullptr;
}

/// Runs a step of a request that waits for its response. An exception ends the request.
template <typename Step>
void run_step(ngx_http_request_t* r, Step step) noexcept {
    const bool is_done = guarded(r->connection->log, false, [&] {
        step();
        return true;
    });
    if (!is_done) {
        ngx_http_finalize_request(r, NGX_HTTP_INTERNAL_SERVER_ERROR);
    }
}

void finalize_unless_waiting(ngx_http_request_t* r, ngx_int_t rc) {
    if (rc != NGX_AGAIN) {
        ngx_http_finalize_request(r, rc);
    }
}

/// The path below the location. nginx decodes and normalizes `r->uri`, where an id with an encoded
/// `/` would be another path. Therefore the path is read as the client sent it. If `rewrite` has
/// changed the URI, there is only `r->uri`: a path with an encoded `/` is then refused.
std::optional<management::ResourcePath> path_of(const ngx_http_request_t* r,
                                                const AdminConf& admin) {
    const std::string_view base = admin.base;
    const auto sent = view(r->unparsed_uri);
    const auto path = sent.substr(0, sent.find_first_of("?#"));
    if (r->valid_unparsed_uri != 0) {
        return management::ResourcePath::below(base, path);
    }
    const auto uri = view(r->uri);
    // `rewrite … break` may have left the location.
    if (!uri.starts_with(base) || path.find("%2F") != std::string_view::npos ||
        path.find("%2f") != std::string_view::npos) {
        return std::nullopt;
    }
    return management::ResourcePath::of_decoded(uri.substr(base.size()));
}

std::string_view method_of(const ngx_http_request_t* r) {
    return r->method == NGX_HTTP_HEAD ? "GET" : view(r->method_name);
}

/// nginx makes the tag of a response weak when it compresses it, and `If-Match` never matches a
/// weak tag.
void forbid_compression(ngx_http_request_t* r) {
#if (NGX_HTTP_GZIP)
    r->gzip_tested = 1;
    r->gzip_ok = 0;
#endif
}

ngx_int_t send(ngx_http_request_t* r, const management::AdminResponse& response) {
    if (response.body.empty() && response.status >= NGX_HTTP_BAD_REQUEST) {
        return response.status;
    }
    for (const auto& [name, value] : response.fields) {
        auto* const field = add_field(r, name, std::string_view(value));
        if (name == "ETag") {
            r->headers_out.etag = field;
            forbid_compression(r);
        }
    }
    if (response.body.empty()) {
        add_field(r, "Cache-Control", "no-store");
        r->headers_out.status = static_cast<ngx_uint_t>(response.status);
        r->header_only = 1;
        return ngx_http_send_header(r);
    }
    return send_text(r, "application/json", response.body,
                     static_cast<ngx_uint_t>(response.status));
}

void finish(ngx_http_request_t* r, const Exchange& exchange) {
    const auto rc = guarded(r, [&]() -> ngx_int_t {
        if (exchange.refusal) {
            granted_here(r)->refuse_as(*exchange.refusal);
            return exchange.refusal->status;
        }
        return send(r, *exchange.response);
    });
    ngx_http_finalize_request(r, rc);
}

/// Ends a request whose operation takes too long. The operation goes on. The client repeats the
/// request, as if Redis were unreachable.
void give_up(ngx_http_request_t* r) {
    constexpr std::int64_t kRetry = 1;
    const auto rc = guarded(r, [&]() -> ngx_int_t {
        add_field(r, "Retry-After", kRetry);
        return NGX_HTTP_SERVICE_UNAVAILABLE;
    });
    ngx_http_finalize_request(r, rc);
}

/// Handles an event of a request that waits.
void on_event(ngx_http_request_t* r) noexcept {
    const auto* const owned = find_pooled<ExchangePtr>(r->pool);
    const ExchangePtr exchange = owned != nullptr ? *owned : nullptr;
    const bool is_over = take_timeout(r);
    if (exchange == nullptr || (!exchange->response && !is_over)) {
        return;
    }
    end_wait(r);
    if (exchange->response) {
        finish(r, *exchange);
    } else {
        give_up(r);
    }
}

/// The transport to the Redis whose keys the location manages.
RedisClient& client_of(ngx_http_request_t* r) {
    return *Worker::of(r).clients()[LocationConf::of(r).content->admin->redis];
}

void start(ngx_http_request_t* r, AdminTasks::Admitted admitted) {
    const auto exchange = std::make_shared<Exchange>(r);
    auto* const owned = make_pooled<ExchangePtr>(r->pool, exchange);
    ngx_http_cleanup_t* cleanup = ngx_http_cleanup_add(r, 0);
    if (cleanup == nullptr) {
        throw std::bad_alloc();
    }
    cleanup->handler = [](void* data) { (*static_cast<ExchangePtr*>(data))->r = nullptr; };
    cleanup->data = owned;
    Worker::of(r).admin_tasks().start(std::move(admitted), exchange);
    if (exchange->response) {
        finish(r, *exchange);
    } else {
        exchange->is_suspended = true;
        finalize_unless_waiting(r, suspend(r, on_event, kOperationTimer));
    }
}

/// What is needed to check the key of a request again.
KeyRights::Key key_of(ngx_http_request_t* r, const RequestContext& context) {
    const TableSetConf& tables = *context.conf().tables;
    const auto address = address_of(r);
    return {.token = std::string(context.token()),
            .address = {address.begin(), address.end()},
            .scopes = context.scopes(),
            .tables = Worker::of(r).tables(tables),
            .transport = Worker::of(r).client(tables)};
}

/// Starts the operation of a complete request. The key was checked before the body was read, which
/// may be long ago: it is checked again.
void begin(ngx_http_request_t* r, std::string_view body) {
    const RequestContext& context = *granted_here(r);
    const auto arrival = client_of(r).context().steady_time();
    management::AdminRequest request{
        .method = std::string(method_of(r)),
        .path = *path_of(r, *LocationConf::of(r).content->admin),
        .base = LocationConf::of(r).content->admin->base,
        .query = std::string(view(r->args)),
        .body = std::string(body),
        .content_type = field_list(r, "Content-Type"),
        .content_encoding = field_list(r, "Content-Encoding"),
        .idempotency_key = field_list(r, "Idempotency-Key"),
        .if_match = field_list(r, "If-Match"),
        .if_none_match = field_list(r, "If-None-Match"),
        .actor = "key:" + context.outcome().key().id,
        .name =
            management::request_name(field_list(r, "X-Request-Id"), field_list(r, "traceparent"))};
    start(r, {.transport = client_of(r),
              .request = std::move(request),
              .key = key_of(r, context),
              .arrival = arrival});
}

/// Handles the complete body. `status` is NGX_OK, or why there is none.
void on_body(ngx_http_request_t* r, ngx_int_t status, std::string_view body) noexcept {
    if (status != NGX_OK) {
        ngx_http_finalize_request(r, status);
        return;
    }
    run_step(r, [&] { begin(r, body); });
}

}  // namespace

bool is_admin_read(const ngx_http_request_t* r, const AdminConf& admin) {
    const auto path = path_of(r, admin);
    return path ? management::is_read(method_of(r), *path) : method_of(r) == "GET";
}

ngx_int_t handle_admin(ngx_http_request_t* r) noexcept {
    return guarded(r, [&]() -> ngx_int_t {
        // The API evaluates the conditions of a request before it changes anything. nginx would do
        // it with the response.
        r->disable_not_modified = 1;
        if (granted_here(r) == nullptr) {
            return NGX_HTTP_FORBIDDEN;
        }
        const auto path = path_of(r, *LocationConf::of(r).content->admin);
        if (!path) {
            return NGX_HTTP_NOT_FOUND;
        }
        const auto longest = management::longest_body(method_of(r), *path);
        return nginx::read_request_body(r, longest, on_body);
    });
}

}  // namespace tollgate::http
