#pragma once

#include <chrono>

#include "module/http/config/directive.hpp"
#include "module/http/nginx.hpp"
#include "module/key/subject.hpp"
#include "module/redis/protocol/log_throttle.hpp"

namespace tollgate::http {

/// `tollgate_subject`.
struct SubjectConf {
    ngx_http_complex_value_t id;
    ngx_http_complex_value_t* plan;  ///< nullptr: the default of each plan table
    Position position;
    /// The lines about values that are no ids. Each worker has its own copy, as of all memory.
    mutable redis::LogThrottle malformed{std::chrono::minutes(1)};

    /// The subject of this request. Its id is empty if the variable is; it may be malformed. Its
    /// texts are in the memory of the request or of the configuration. Throws std::bad_alloc.
    Subject subject_of(ngx_http_request_t* r) const;
    /// Logs that the subject of a request is malformed, once a minute at most.
    void report_malformed(const ngx_http_request_t* r, ngx_uint_t level,
                          const Subject& subject) const;
};

/// Reads `tollgate_subject $variable [plan=$variable] | off`.
char* read_subject(ngx_conf_t* cf, ngx_command_t* command, void* conf) noexcept;

}  // namespace tollgate::http
