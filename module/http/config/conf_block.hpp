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

/// A directive's reader throws this if the error is already in the log.
struct LoggedConfError final : std::exception {
    const char* what() const noexcept override { return "invalid configuration"; }
};

/// Reads a directive's block, whose own directives nginx doesn't know: `directive` is called with
/// each one's words, its name first, and throws ParseError or LoggedConfError for what it can't
/// take. `include` works inside. Returns NGX_CONF_OK, or NGX_CONF_ERROR after a message.
char* read_block(ngx_conf_t* cf,
                 const std::function<void(std::span<const std::string_view>)>& directive);

}  // namespace tollgate::http
