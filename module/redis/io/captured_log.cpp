#include "module/redis/io/captured_log.hpp"

#include <utility>

namespace tollgate::redis {

CapturedLog::CapturedLog() {
    log_.log_level = NGX_LOG_INFO;
    log_.writer = keep;
    log_.wdata = this;
}

LogText CapturedLog::take(std::string_view otherwise) noexcept {
    const LogText text = std::exchange(text_, LogText());
    return text.empty() ? LogText(otherwise) : text;
}

/// A line is "2026/01/31 12:00:00 [info] 123#123: the message", and a line feed.
void CapturedLog::keep(ngx_log_t* log, ngx_uint_t /*level*/, u_char* line, size_t length) noexcept {
    std::string_view text(reinterpret_cast<const char*>(line), length);
    constexpr std::string_view kEnd = ": ";
    const auto process = text.find('#');
    const auto end = process == text.npos ? process : text.find(kEnd, process);
    if (end != text.npos) {
        text.remove_prefix(end + kEnd.size());
    }
    while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) {
        text.remove_suffix(1);
    }
    static_cast<CapturedLog*>(log->wdata)->text_ = LogText(text);
}

}  // namespace tollgate::redis
