#include "module/http/request/request_context.hpp"

#include "module/http/config/subject_conf.hpp"
#include "module/http/request/key_fields.hpp"
#include "module/http/request/request_json.hpp"
#include "module/http/worker.hpp"

namespace tollgate::http {

namespace {

/// Whether the request is on its way to the operator's error page.
bool is_on_error_page(const ngx_http_request_t* r) {
    return r->err_status >= NGX_HTTP_BAD_REQUEST;
}

engine::Admission::Options options_for(const ngx_http_request_t* r, const LocationConf& conf,
                                       std::string_view scopes) {
    return {.refusals_strike = conf.dry_run == 0,
            .scopes = scopes,
            .needs_body = conf.request_json != nullptr && !is_on_error_page(r),
            .missing_key =
                conf.key_from->challenge_field().empty() ? kMissingApiKey : kMissingApiKeyField};
}

}  // namespace

AddressBytes address_of(const ngx_http_request_t* r) {
    const sockaddr* address = r->connection->sockaddr;
    if (address->sa_family == AF_INET) {
        const auto& ip = reinterpret_cast<const sockaddr_in*>(address)->sin_addr;
        return {reinterpret_cast<const unsigned char*>(&ip), sizeof(ip)};
    }
    if (address->sa_family == AF_INET6) {
        const auto& ip = reinterpret_cast<const sockaddr_in6*>(address)->sin6_addr;
        return {reinterpret_cast<const unsigned char*>(&ip), sizeof(ip)};
    }
    return {};
}

RequestContext* RequestContext::find(const ngx_http_request_t* r) {
    auto* context = find_here(r->main);
    return context != nullptr ? context : find_pooled<RequestContext>(r->main->pool);
}

RequestContext* RequestContext::find_here(const ngx_http_request_t* r) {
    return static_cast<RequestContext*>(ngx_http_get_module_ctx(r, ngx_http_tollgate_module));
}

RequestContext& RequestContext::make(ngx_http_request_t* r, const LocationConf& conf) {
    RequestContext* before = find(r);
    auto* context = make_pooled<RequestContext>(r->pool, r, conf);
    context->before_ = before;
    context->take_over();
    return *context;
}

RequestContext::RequestContext(ngx_http_request_t* r, const LocationConf& conf)
    : r_(r),
      conf_(conf),
      scopes_(conf.scopes_of(r)),
      log_(r->connection->log),
      admission_(Worker::of(r).client(*conf.tables).engine(), Worker::of(r).tables(*conf.tables),
                 *this, options_for(r, conf, scopes_)) {}

void RequestContext::start() {
    // A module that has refused the request may have set the variable all the same: nginx does not
    // check the name in $remote_user, for example. The request comes here under `satisfy any`, or
    // on its way to an error page.
    if (conf_.subject != nullptr && r_->access_code == 0 &&
        (before_ != nullptr || !may_be_refused_before(r_))) {
        subject_ = conf_.subject->subject_of(r_);
    }
    if (subject_.id.empty()) {
        key_ = find_key(r_, conf_.key_from->sources);
    }
    admit();
}

void RequestContext::refuse_as(const engine::Outcome& outcome) {
    auto* refused = make_pooled<RequestContext>(r_->pool, r_, conf_);
    refused->before_ = this;
    refused->key_ = key_;
    refused->admission_.refuse_as(outcome);
    refused->take_over();
}

void RequestContext::admit() noexcept {
    if (subject_.id.empty()) {
        admission_.start(key_.token);
    } else {
        admission_.start(subject_);
    }
    if (outcome().is_decided()) {
        return;
    }
    // nginx calls this cleanup handler when the request is terminated, which may be long before its
    // pool is destroyed. ngx_http_cleanup_add would take memory of the pool.
    cleanup_.handler = [](void* data) { static_cast<engine::Admission*>(data)->abandon(); };
    cleanup_.data = &admission_;
    cleanup_.next = std::exchange(r_->main->cleanup, &cleanup_);
    is_waiting_ = true;
}

void RequestContext::time_out() noexcept {
    is_waiting_ = false;  // The caller runs the request.
    admission_.time_out();
}

std::string_view RequestContext::key_from() const {
    if (!subject_.id.empty()) {
        return "subject";
    }
    return key_.source == nullptr ? std::string_view() : std::string_view(key_.source->name);
}

std::string_view RequestContext::value(std::size_t table) {
    const auto index = static_cast<ngx_uint_t>(conf_.tables->variables[table]);
    const ngx_http_variable_value_t* found = ngx_http_get_flushed_variable(r_, index);
    if (found == nullptr) {
        throw std::bad_alloc();
    }
    return found->not_found != 0
               ? std::string_view()
               : std::string_view(reinterpret_cast<const char*>(found->data), found->len);
}

Cost RequestContext::cost() {
    return is_on_error_page(r_) ? Cost(0) : cost_of(r_, *conf_.table_costs);
}

void RequestContext::settle() noexcept {
    if (before_ != nullptr) {
        before_->settle();
    }
    if (admission_.settles()) {
        attempt(log_, [&] { admission_.settle(used_by(r_, *conf_.table_costs, *outcome().cost)); });
    }
}

void RequestContext::strip_request_fields(std::span<const KeyField> keys) {
    http::strip_request_fields(r_, keys);
    stripped_ = keys;
}

void RequestContext::go_on_with_body() {
    needs_body_ = false;
    is_waiting_ = false;  // The caller runs the request.
    read_json_body(r_, *conf_.request_json);
    if (const JsonVariable* missing = find_missing_value(r_, *conf_.request_json)) {
        admission_.refuse_body({.code = kInvalidRequest, .message = missing->missing});
    } else {
        admission_.go_on_with_body();
    }
    is_waiting_ = !outcome().is_decided();
}

void RequestContext::on_authenticated() noexcept {
    needs_body_ = true;
    wake_up();
}

void RequestContext::on_outcome() noexcept {
    if (outcome().status != 0) {
        log_refusal();
    }
    wake_up();
}

/// The request must not run inside the reader of replies: running it may end it and other requests.
void RequestContext::wake_up() noexcept {
    if (is_waiting_) {
        ngx_post_event(r_->connection->write, &ngx_posted_events);
    }
}

void RequestContext::log_refusal() noexcept {
    if (outcome().error.code == kInvalidSubject.code) {
        conf_.subject->report_malformed(r_, conf_.log_level, subject_);
        return;
    }
    ngx_str_t code = borrow(outcome().error.code);
    const InvalidKey& invalid = outcome().invalid;
    ngx_str_t id = borrow(invalid.id.empty() ? outcome().key().id : invalid.id);
    ngx_str_t plan = borrow(admission_.plan());
    std::string more;
    // If memory is short, the line ends earlier.
    guarded(r_->connection->log, false, [&] {
        const auto add = [&](std::string_view name, std::string_view value) {
            if (!value.empty()) {
                more.append(", ").append(name).append(" \"").append(value).append("\"");
            }
        };
        add("group", outcome().key().group);
        add("reason", name_of(invalid.fault));
        add("limited by", outcome().limiter().text());
        return true;
    });
    ngx_str_t rest = borrow(more);
    ngx_log_error(conf_.log_level, r_->connection->log, 0,
                  "tollgate refuses the request%s: %V, key \"%V\", plan \"%V\"%V",
                  conf_.dry_run != 0 ? ", dry run" : "", &code, &id, &plan, &rest);
}

}  // namespace tollgate::http
