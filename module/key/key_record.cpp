#include "module/key/key_record.hpp"

#include <algorithm>

namespace tollgate {

bool is_valid_key_id(std::string_view id) {
    return !id.empty() && id.size() <= kLongestId && std::ranges::all_of(id, [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
               c == '_' || c == '-' || c == '.';
    });
}

bool is_dot_segment(std::string_view id) {
    return id == "." || id == "..";
}

bool is_valid_name(std::string_view name) {
    return is_valid_key_id(name);
}

bool is_valid_key_name(std::string_view name) {
    return name.size() <= kLongestKeyName && std::ranges::none_of(name, [](char c) {
               const auto byte = static_cast<unsigned char>(c);
               return byte < 0x20 || byte == 0x7f;
           });
}

}  // namespace tollgate
