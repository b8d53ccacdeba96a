#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "module/body/json_pointer.hpp"
#include "module/http/nginx.hpp"
#include "module/redis/protocol/log_throttle.hpp"

namespace tollgate::http {

/// A variable that a location reads from a JSON body.
struct JsonVariable {
    std::string name;          ///< without `$`, in lower case
    std::size_t first = 0;     ///< its pointers, in JsonValuesConf::pointers
    std::size_t count = 0;     ///< of them
    std::size_t max = 0;       ///< of a larger request's body, in bytes, it has no value
    bool is_required = false;  ///< `required`
    std::string missing{};     ///< the message if a required value is missing
};

/// The directives `tollgate_request_json`, or `tollgate_response_json`, of one level.
struct JsonValuesConf {
    std::vector<body::JsonPointer> pointers;  ///< of all variables
    std::vector<JsonVariable> variables;
    /// The lines about responses that cannot be read, and about those without a required value.
    /// Each worker has its own copy, as of all memory.
    mutable redis::LogThrottle unreadable{};
    mutable redis::LogThrottle missing{std::chrono::minutes(1)};

    /// nullptr if this level does not set the variable with this name.
    const JsonVariable* find(std::string_view name) const;
    /// The first variable that is required and has no value; nullptr if there is none. `value_of`
    /// returns the value of a variable, empty without one.
    template <typename ValueOf>
    const JsonVariable* find_missing(ValueOf value_of) const {
        for (const JsonVariable& variable : variables) {
            if (variable.is_required && value_of(variable).empty()) {
                return &variable;
            }
        }
        return nullptr;
    }
    /// The largest body of a request that has values, in bytes.
    std::size_t largest_body() const;
};

/// The `post` of a directive that reads variables from JSON bodies.
struct JsonDirective {
    /// What nginx calls for the value of such a variable. Its data is a pointer to the name, an
    /// ngx_str_t.
    ngx_http_get_variable_pt get;
    bool is_of_request;  ///< it has the parameter `max=`
};

/// Reads `DIRECTIVE $variable POINTER… [max=SIZE] [required] | off`, into the JsonValuesConf at the
/// command's offset.
char* read_json_values(ngx_conf_t* cf, ngx_command_t* command, void* conf) noexcept;

/// Sets such a variable for nginx to the text; it is not found if the text is empty.
ngx_int_t set_body_variable(ngx_http_request_t* r, ngx_http_variable_value_t* value,
                            std::string_view text) noexcept;

}  // namespace tollgate::http
