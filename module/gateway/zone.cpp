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

namespace {

/// The entry of this name, a free one, or the last one.
template <typename Entries>
auto& entry_of(Entries& entries, std::uint32_t name) {
    for (auto& entry : entries) {
        if (entry.name == name || entry.name == 0) {
            entry.name = name;
            return entry;
        }
    }
    return entries.back();
}

}  // namespace

SharedRedis& LockedZone::redis(std::uint32_t name) const {
    return entry_of(zone_.redis_, name);
}

redis::SharedMaster& LockedZone::sentinel_master(std::uint32_t name) const {
    return entry_of(zone_.node_.sentinels, name).master;
}

}  // namespace tollgate::gateway
