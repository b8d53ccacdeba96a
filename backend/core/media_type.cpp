#include "backend/core/media_type.hpp"

#include <algorithm>

namespace petstore {

bool is_json(std::string_view content_type) {
    constexpr std::string_view kJson = "application/json";
    std::string_view type = content_type.substr(0, content_type.find(';'));
    while (type.ends_with(' ') || type.ends_with('\t')) {
        type.remove_suffix(1);
    }
    return std::equal(type.begin(), type.end(), kJson.begin(), kJson.end(), [](char a, char b) {
        return (a >= 'A' && a <= 'Z' ? a - 'A' + 'a' : a) == b;
    });
}

}  // namespace petstore
