#pragma once

#include <exception>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "module/http/nginx.hpp"

namespace tollgate::http {

/// The words of the directive that is being read, its name first.
std::vector<std::string_view> words_of(const ngx_conf_t* cf);

/// The reader of a directive throws this if the error is already in the log.
struct LoggedConfError final : std::exception {
    const char* what() const noexcept override { return "invalid configuration"; }
};

/// Reads the block of a directive. nginx does not know the directives in it. Calls `directive` with
/// the words of each, its name first. `directive` throws ParseError or LoggedConfError for what is
/// invalid. `include` works in the block. Returns NGX_CONF_OK, or NGX_CONF_ERROR after a message.
char* read_block(ngx_conf_t* cf,
                 const std::function<void(std::span<const std::string_view>)>& directive);

/// Reads `tollgate_redis NAME { … }`.
char* read_redis_block(ngx_conf_t* cf, ngx_command_t* command, void* conf) noexcept;

/// Reads `tollgate_plans NAME [redis=NAME] { … }`.
char* read_plans_block(ngx_conf_t* cf, ngx_command_t* command, void* conf) noexcept;

}  // namespace tollgate::http
