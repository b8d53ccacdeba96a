#pragma once

extern "C" {
#include <ngx_config.h>
#include <ngx_core.h>
}

#include <string_view>

#include "module/redis/protocol/log_text.hpp"

namespace tollgate::redis {

/// A log for functions of nginx that report their errors only there. It writes nothing and keeps
/// the last message, without the time and the process that nginx puts before it. Debug messages are
/// not kept.
class CapturedLog {
  public:
    CapturedLog();
    CapturedLog(const CapturedLog&) = delete;
    CapturedLog& operator=(const CapturedLog&) = delete;
    ~CapturedLog() = default;

    ngx_log_t* get() noexcept { return &log_; }
    /// The last message since the previous call; `otherwise` if there is none.
    LogText take(std::string_view otherwise) noexcept;

  private:
    static void keep(ngx_log_t* log, ngx_uint_t level, u_char* line, size_t length) noexcept;

    ngx_log_t log_{};
    LogText text_;
};

}  // namespace tollgate::redis
