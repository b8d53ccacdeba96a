#include "module/gateway/zone.hpp"

#include <array>
#include <charconv>
#include <cstddef>
#include <cstring>

namespace tollgate::gateway {

namespace {

/// The entry of this name, a free one, or that of another name if there is none. The search begins
/// at a place that depends on the name: each request needs an entry, and a cluster may have a
/// hundred masters.
template <typename Entries>
auto& entry_of(Entries& entries, std::uint32_t name) {
    const std::size_t first = name % entries.size();
    for (std::size_t i = 0; i < entries.size(); ++i) {
        auto& entry = entries[(first + i) % entries.size()];
        const std::uint32_t other = entry.name.value();
        if (other == name || other == 0) {
            return entry;
        }
    }
    return entries[first];
}

/// The same. A free one belongs to this name from now on. The caller holds the node's lock.
template <typename Entries>
auto& claim_entry(Entries& entries, std::uint32_t name) {
    auto& entry = entry_of(entries, name);
    entry.name.replace(0, name);
    return entry;
}

template <typename Change>
void change_clock(Zone& zone, std::uint32_t name, Change change) {
    SharedClock& shared = zone.redis(name).clock;
    const LockedNode node(zone);
    RedisClock clock = shared.read();
    change(clock);
    shared.write(clock);
}

}  // namespace

std::string Zone::node_name() const {
    std::array<char, 16> digits{};
    const char* end = std::to_chars(digits.data(), digits.data() + digits.size(), node_.id, 16).ptr;
    const std::string text(digits.data(), static_cast<std::size_t>(end - digits.data()));
    return std::string(digits.size() - text.size(), '0') + text;
}

StripeNumber Zone::stripe_of(const IdHash& id) const {
    // The tables use the first eight bytes.
    std::uint32_t rest = 0;
    static_assert(sizeof(IdHash) == sizeof(std::uint64_t) + sizeof(rest));
    std::memcpy(&rest, id.data() + sizeof(std::uint64_t), sizeof(rest));
    return at(rest);
}

SharedRedis& Zone::redis(std::uint32_t name) {
    SharedRedis& known = entry_of(redis_, name);
    if (known.name.value() != 0) {
        return known;
    }
    const LockedNode node(*this);
    return claim_entry(redis_, name);
}

void Zone::observe_time(std::uint32_t name, ExactSteadyTime sent, ExactSteadyTime received,
                        ExactInstant time) {
    change_clock(*this, name, [&](RedisClock& clock) { clock.observe(sent, received, time); });
}

void Zone::restart_clock(std::uint32_t name, ExactSteadyTime sent, ExactSteadyTime received,
                         ExactInstant time) {
    change_clock(*this, name, [&](RedisClock& clock) { clock.restart(sent, received, time); });
}

redis::SharedMaster& LockedNode::sentinel_master(std::uint32_t name) const {
    return claim_entry(zone_.node_.sentinels, name).master;
}

}  // namespace tollgate::gateway
