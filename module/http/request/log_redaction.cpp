#include "module/http/request/log_redaction.hpp"

#include <algorithm>
#include <span>

#include "module/http/http_block.hpp"
#include "module/http/request/handlers.hpp"
#include "module/http/request/key_fields.hpp"
#include "module/key/redaction.hpp"
#include "module/text/ascii.hpp"

namespace tollgate::http {

namespace {

/// The original writer of a log, which Tollgate's writer replaces.
struct Target {
    ngx_log_writer_pt writer;  ///< of a memory buffer or of syslog; nullptr for a file
    void* data;
    const std::vector<std::string>* fields;  ///< MainConf::redacted_fields
};

/// nginx's handler of the logs of HTTP connections, which has no public name. nullptr before the
/// first request.
ngx_log_handler_pt http_log_handler = nullptr;

/// A handler of NGX_HTTP_POST_READ_PHASE, before another one can read a variable.
ngx_int_t note_log_handler(ngx_http_request_t* r) noexcept {
    http_log_handler = r->connection->log->handler;
    return NGX_DECLINED;
}

/// The request that this log belongs to; nullptr if there is none.
const ngx_http_request_t* request_of(const ngx_log_t* log) {
    if (http_log_handler == nullptr || log->handler != http_log_handler || log->data == nullptr) {
        return nullptr;
    }
    return static_cast<const ngx_http_log_ctx_t*>(log->data)->request;
}

/// Replaces the values of the fields in a line about their request. nginx may print a line while it
/// adds a field to the request: only its name and its value are set then.
void redact_values(const ngx_http_request_t* r, std::span<char> line,
                   const std::vector<std::string>& fields) {
    for_each_field(r->headers_in.headers, [&](const ngx_table_elt_t& field) {
        const bool has_key = std::ranges::any_of(fields, [&](const std::string& name) {
            return equals_ignoring_case(view(field.key), name);
        });
        if (has_key) {
            redact_value(line, view(field.value));
        }
    });
    if (const auto* stripped = find_pooled<StrippedValues>(r->pool)) {
        for (const ngx_str_t& value : stripped->values) {
            redact_value(line, view(value));
        }
    }
}

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
    const std::span text(reinterpret_cast<char*>(line), length);
    redact_credentials(text, *target->fields);
    const ngx_http_request_t* r = target->fields->empty() ? nullptr : request_of(log);
    if (r != nullptr) {
        redact_values(r, text, *target->fields);
    }
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
    const auto& fields = HttpBlock::of(cycle)->conf.redacted_fields;
    for (; log != nullptr; log = log->next) {
        if (log->writer != write_redacted) {
            log->wdata = make_pooled<Target>(cycle->pool, Target{log->writer, log->wdata, &fields});
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

bool add_log_redaction(ngx_conf_t* cf) {
    return MainConf::of(cf).redacted_fields.empty() ||
           !add_phase_handler(cf, NGX_HTTP_POST_READ_PHASE, note_log_handler).empty();
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
