#include "module/http/nginx_environment.hpp"

#include <cerrno>
#include <csignal>
#include <new>
#include <utility>

#include "module/redis/io/event.hpp"

namespace tollgate::http {

namespace {

class NginxTimer final : public Timer {
  public:
    NginxTimer(std::function<void()> handler, ngx_log_t* log)
        : handler_(std::move(handler)),
          event_(redis::Event::calling<&NginxTimer::fire>(this, log)) {
        event_.set_cancelable(true);
    }
    void start(std::chrono::milliseconds delay) noexcept override {
        event_.start(static_cast<ngx_msec_t>(delay.count()));
    }
    void post() noexcept override { event_.post(); }
    void cancel() noexcept override { event_.cancel(); }

  private:
    void fire() noexcept { handler_(); }

    std::function<void()> handler_;
    redis::Event event_;
};

ngx_uint_t nginx_level(LogLevel level) {
    switch (level) {
        case LogLevel::kCritical:
            return NGX_LOG_CRIT;
        case LogLevel::kError:
            return NGX_LOG_ERR;
        case LogLevel::kWarning:
            return NGX_LOG_WARN;
    }
    return NGX_LOG_ERR;
}

}  // namespace

void NginxLog::write(LogLevel level, std::string_view text) noexcept {
    ngx_str_t line = borrow(text);
    ngx_log_error(nginx_level(level), log_, 0, "tollgate: %V", &line);
}

ShutdownNotice::ShutdownNotice(std::function<void()> handler, ngx_log_t* log)
    : handler_(std::move(handler)), connection_(ngx_get_connection(0, log)) {
    if (connection_ == nullptr) {
        throw std::bad_alloc();
    }
    // ngx_close_idle_connections() calls the handlers of idle connections that have a descriptor.
    // This one has none: nginx only compares it with -1.
    connection_->fd = static_cast<ngx_socket_t>(-2);
    connection_->idle = 1;
    connection_->data = this;
    connection_->read->log = log;
    connection_->read->handler = [](ngx_event_t* event) {
        auto* const connection = static_cast<ngx_connection_t*>(event->data);
        if (connection->idle != 0) {
            connection->idle = 0;
            static_cast<ShutdownNotice*>(connection->data)->handler_();
        }
    };
}

ShutdownNotice::~ShutdownNotice() {
    ngx_free_connection(connection_);
    connection_->fd = static_cast<ngx_socket_t>(-1);
}

std::unique_ptr<Timer> NginxEventLoop::make_timer(std::function<void()> handler) {
    return std::make_unique<NginxTimer>(std::move(handler), log_);
}

bool NginxWorker::is_alive(std::uint32_t process) const noexcept {
    return kill(static_cast<pid_t>(process), 0) == 0 || errno == EPERM;
}

}  // namespace tollgate::http
