#include "module/http/request/log_redaction.hpp"

#include <algorithm>
#include <span>

#include "module/http/http_block.hpp"
#include "module/key/redaction.hpp"

namespace tollgate::http {

namespace {

/// The original writer of a log, which Tollgate's writer replaces.
struct Target {
    ngx_log_writer_pt writer;  ///< of a memory buffer or of syslog; nullptr for a file
    void* data;
};

/// Writes to a file as ngx_log_error_core does.
void write_to_file(ngx_log_t* log, u_char* line, std::size_t length) {
    if (ngx_time() == log->disk_full_time) {
        return;
    }
    if (ngx_write_fd(log->file->fd, line, length) == -1 && ngx_errno == NGX_ENOSPC) {
        log->disk_full_time = ngx_time();
    }
}

void write_redacted(ngx_log_t* log, ngx_uint_t level, u_char* line, std::size_t length) noexcept {
    const auto* target = static_cast<const Target*>(log->wdata);
    // The buffer belongs to ngx_log_error_core, which writes the redacted line to the chained logs
    // too.
    redact_credentials({reinterpret_cast<char*>(line), length});
    if (target->writer == nullptr) {
        write_to_file(log, line, length);
        return;
    }
    ngx_log_t original = *log;
    original.wdata = target->data;
    target->writer(&original, level, line, length);
}

/// Sets Tollgate's writer in a log and in the logs chained to it.
void redact(ngx_cycle_t* cycle, ngx_log_t* log) {
    for (; log != nullptr; log = log->next) {
        if (log->writer != write_redacted) {
            log->wdata = make_pooled<Target>(cycle->pool, Target{log->writer, log->wdata});
            log->writer = write_redacted;
        }
    }
}

void release(ngx_log_t* log) noexcept {
    for (; log != nullptr; log = log->next) {
        if (log->writer == write_redacted) {
            const auto* target = static_cast<const Target*>(log->wdata);
            log->writer = target->writer;
            log->wdata = target->data;
        }
    }
}

}  // namespace

void note_error_log(ngx_conf_t* cf) {
    const auto* core = static_cast<ngx_http_core_loc_conf_t*>(
        ngx_http_conf_get_module_loc_conf(cf, ngx_http_core_module));
    auto& logs = MainConf::of(cf).error_logs;
    if (std::ranges::find(logs, core->error_log) == logs.end()) {
        logs.push_back(core->error_log);
    }
}

void redact_error_logs(ngx_cycle_t* cycle) {
    redact(cycle, cycle->log);
    for (ngx_log_t* log : HttpBlock::of(cycle)->conf.error_logs) {
        redact(cycle, log);
    }
    // A connection starts with a copy of its listener's log, which is itself a copy.
    for (auto& listener :
         std::span(static_cast<ngx_listening_t*>(cycle->listening.elts), cycle->listening.nelts)) {
        if (listener.logp != nullptr) {
            listener.log.writer = listener.logp->writer;
            listener.log.wdata = listener.logp->wdata;
        }
    }
}

void release_error_logs(ngx_cycle_t* cycle) noexcept {
    release(cycle->log);
    for (ngx_log_t* log : HttpBlock::of(cycle)->conf.error_logs) {
        release(log);
    }
}

}  // namespace tollgate::http
