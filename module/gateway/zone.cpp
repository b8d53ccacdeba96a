#include "module/gateway/zone.hpp"

#include <array>
#include <charconv>

namespace tollgate::gateway {

std::string Zone::node_name() const {
    std::array<char, 16> digits{};
    const char* end = std::to_chars(digits.data(), digits.data() + digits.size(), node_.id, 16).ptr;
    const std::string text(digits.data(), static_cast<std::size_t>(end - digits.data()));
    return std::string(digits.size() - text.size(), '0') + text;
}

SharedRedis& LockedZone::redis(std::uint32_t name) const {
    for (SharedRedis& entry : zone_.redis_) {
        if (entry.name == name || entry.name == 0) {
            entry.name = name;
            return entry;
        }
    }
    return zone_.redis_.back();
}

}  // namespace tollgate::gateway
