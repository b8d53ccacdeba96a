#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "module/engine/admission.hpp"
#include "module/http/config/location_conf.hpp"
#include "module/http/nginx.hpp"
#include "module/http/nginx_environment.hpp"
#include "module/http/request/key_fields.hpp"
#include "module/key/subject.hpp"

namespace tollgate::http {

/// The address of a request's client, after the `realip` module has set it.
AddressBytes address_of(const ngx_http_request_t* r);

/// A request that passes a guarded location: its admission, and what nginx needs for it. The pool
/// of the main request owns it, so that an internal redirect, an error page or a subrequest finds
/// it and the request is decided and counted once.
class RequestContext : public nginx::Recycled, private engine::Admission::Client {
  public:
    /// The context of this request; nullptr if it has passed no guarded location.
    static RequestContext* find(const ngx_http_request_t* r);
    /// The context that this request has itself; nullptr if it has none. The contexts of a main
    /// request, and of the location before an internal redirect, are left out.
    static RequestContext* find_here(const ngx_http_request_t* r);
    /// Makes a context for a request. Throws std::bad_alloc.
    static RequestContext& make(ngx_http_request_t* r, const LocationConf& conf);

    RequestContext(ngx_http_request_t* r, const LocationConf& conf);
    ~RequestContext() override = default;
    RequestContext(const RequestContext&) = delete;
    RequestContext& operator=(const RequestContext&) = delete;

    /// The location that decides.
    const LocationConf& conf() const { return conf_; }
    /// The scopes that it requires, in the form of parse_scopes.
    const std::string& scopes() const { return scopes_; }
    const engine::Outcome& outcome() const { return admission_.outcome(); }
    const engine::Admission& admission() const { return admission_; }
    /// Whether the request is decided after the access phase: see add_subject_counting.
    bool is_late() const { return is_late_; }
    void set_late(bool is_late) { is_late_ = is_late; }
    /// Whether the request must not pass. Nothing is refused in a dry run.
    bool refuses() const { return outcome().status != 0 && conf_.dry_run == 0; }

    void bypass() noexcept { admission_.bypass(); }
    /// Refuses a key that was authenticated before an internal redirect.
    void forbid(const Error& error, const std::shared_ptr<const KeyRecord>& record) noexcept {
        admission_.forbid(error, record);
    }
    /// Decides the request, now or later. If later, an event is then posted to the write side of
    /// its connection. Throws std::bad_alloc.
    void start();
    /// The key of a granted request as it was sent. Empty if a subject is in its place.
    std::string_view token() const { return key_.token.value_or(std::string_view()); }
    /// Refuses a granted request whose key was checked again, with this outcome: the response, the
    /// log and the statistics show it. Throws std::bad_alloc.
    void refuse_as(const engine::Outcome& outcome);
    /// Makes this the context that the response, the log and the statistics read.
    void take_over() { ngx_http_set_ctx(r_, this, ngx_http_tollgate_module); }
    /// Whether the key is valid, and the decision needs the body of the request, which is not read
    /// yet. If the request waits, an event is posted to the write side of its connection.
    bool needs_body() const { return needs_body_; }
    /// nginx has read the body, or the request has none that is read. Decides the request, now or
    /// later, as start() does. Throws std::bad_alloc.
    void go_on_with_body();
    /// Decides the request because Redis took too long.
    void time_out() noexcept;

    /// Settles the cost of the request, which has ended, if the location says so. Once. The same
    /// for the contexts that decided the request before.
    void settle() noexcept;

    /// Where the key was found: the name of its source, or `subject` in place of a key; empty if
    /// there was none.
    std::string_view key_from() const;
    /// Removes the fields of the request that must not reach the upstream: these keys, and those
    /// that only a gateway may set. Throws std::bad_alloc.
    void strip_request_fields(std::span<const KeyField> keys);
    /// Whether strip_request_fields has removed all fields that it would remove with this argument.
    bool is_stripped(std::span<const KeyField> keys) const {
        return stripped_ && (keys.empty() || keys.data() == stripped_->data());
    }

  private:
    std::string_view value(std::size_t table) override;
    Cost cost() override;
    AddressBytes address() const override { return address_of(r_); }
    Log& log() noexcept override { return log_; }
    void on_authenticated() noexcept override;
    void on_outcome() noexcept override;
    void admit() noexcept;
    void wake_up() noexcept;
    void log_refusal() noexcept;

    ngx_http_request_t* r_;
    const LocationConf& conf_;
    const std::string& scopes_;
    NginxLog log_;
    std::optional<std::span<const KeyField>> stripped_;  ///< nothing: no fields yet
    Subject subject_;  ///< in place of a key; has no id if there is none
    SentKey key_;      ///< remains in the memory of the request when its field is removed
    RequestContext* before_ = nullptr;  ///< that decided the request before this one
    ngx_http_cleanup_t cleanup_{};      ///< of the request, if it waits
    bool is_waiting_ = false;           ///< for an event
    bool needs_body_ = false;
    bool is_late_ = false;
    engine::Admission admission_;
};

}  // namespace tollgate::http
