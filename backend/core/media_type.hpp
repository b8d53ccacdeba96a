#pragma once

#include <string_view>

namespace petstore {

/// Whether a Content-Type is `application/json`, whatever its parameters (RFC 9110, section 8.3.1).
bool is_json(std::string_view content_type);

}  // namespace petstore
