#pragma once

#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "module/http/nginx.hpp"

namespace tollgate::http {

/// The words of the directive that is being read, its name first.
std::vector<std::string_view> words_of(const ngx_conf_t* cf);

/// Reads the block of a directive. Calls `directive` for each directive inside, with its words, its
/// name first; `directive` throws ParseError if they are not valid. `include` works inside the
/// block. Returns NGX_CONF_OK, or NGX_CONF_ERROR after logging a message.
char* read_block(ngx_conf_t* cf,
                 const std::function<void(std::span<const std::string_view>)>& directive);

}  // namespace tollgate::http
