#pragma once

extern "C" {
#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_event.h>
}

#include <chrono>
#include <string>

#include "module/redis/io/event.hpp"
#include "module/redis/io/socket_address.hpp"
#include "module/redis/protocol/interface.hpp"
#include "module/redis/protocol/resolution_pace.hpp"

namespace tollgate::redis {

/// A resolver of nginx, from a `resolver` directive, and its `resolver_timeout`.
struct Resolver {
    ngx_resolver_t* resolver = nullptr;
    std::chrono::milliseconds timeout{};
};

/// Is notified when addresses change.
class AddressListener : public Interface {
  public:
    /// The addresses are not those of the last call, or the first attempt to find them has failed.
    /// Called from the event loop only, never from a function that this listener called.
    virtual void on_addresses() noexcept = 0;
};

/// The current addresses of one "host:port". The name is resolved with nginx's resolver at once,
/// and again when the answer expires. While resolutions fail, the last addresses remain. Timers do
/// not keep a worker alive that shuts down.
class NameResolution {
  public:
    /// `owner` is for the log, such as `redis "main"`. `resolver`, `listener` and `log` must
    /// outlive the object.
    NameResolution(std::string host, in_port_t port, const Resolver& resolver, std::string owner,
                   AddressListener& listener, ngx_log_t* log);
    /// Cancels a pending resolution.
    ~NameResolution();
    NameResolution(const NameResolution&) = delete;
    NameResolution& operator=(const NameResolution&) = delete;

    /// Empty until the first answer.
    const SocketAddresses& addresses() const noexcept { return addresses_; }

    /// Whether a resolution has ended: if there are no addresses, it failed.
    bool is_tried() const noexcept { return is_tried_; }

    /// Resolves the name again although the last answer is still valid: as soon as one second has
    /// passed since the last resolution started. Ignores the resolver's cache.
    void resolve_now() noexcept;

  private:
    using Clock = std::chrono::steady_clock;

    static void handle_answer(ngx_resolver_ctx_t* answer) noexcept;
    void on_timer() noexcept;
    void resolve() noexcept;
    void take(const ngx_resolver_ctx_t& answer) noexcept;
    bool replace(const ngx_resolver_ctx_t& answer) noexcept;
    void fail(ngx_int_t code, const char* reason) noexcept;
    void schedule(Clock::time_point time) noexcept;

    std::string host_;  ///< nginx changes it to lower case
    in_port_t port_;
    const Resolver& resolver_;
    std::string owner_;
    AddressListener& listener_;
    ngx_log_t* log_;
    SocketAddresses addresses_;
    ResolutionPace pace_;
    ngx_resolver_ctx_t* pending_ = nullptr;
    bool ignores_cache_ = false;
    bool is_tried_ = false;
    bool is_failing_ = false;
    Clock::time_point due_{};
    Event timer_;
};

}  // namespace tollgate::redis
