#include "module/zone/zone.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstring>

namespace tollgate {

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

/// A master has a clock. The entry of a `tollgate_redis`, which is settled, remains.
SteadyTime used_at(const SharedRedis& entry) {
    return entry.settled != SteadyTime{} ? SteadyTime::max() : entry.clock.read().heard();
}

/// The entry that was used the longest time ago, of those that a search for this name visits
/// first. It belongs to nobody any more: the masters of a cluster change.
SharedRedis& least_recently_used(std::span<SharedRedis> entries, std::uint32_t name) {
    constexpr std::size_t kMostVisited = 8;
    SharedRedis* oldest = &entries[name % entries.size()];
    for (std::size_t i = 1; i < std::min(kMostVisited, entries.size()); ++i) {
        SharedRedis& entry = entries[(name + i) % entries.size()];
        if (used_at(entry) < used_at(*oldest)) {
            oldest = &entry;
        }
    }
    oldest->nodes.set(0);
    oldest->clock.write({});
    oldest->settled = oldest->heartbeat_due = oldest->nodes_counted = {};
    oldest->fewer_nodes_since = {};
    oldest->is_unreachable = false;
    oldest->forgotten_until.set(0);
    oldest->subscription = {};
    return *oldest;
}

/// The entry of this name, or that of another name if none is free: see entry_of. A free entry
/// belongs to this name from now on. The caller holds the node's lock.
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

std::size_t Zone::start_worker(const WorkerProcess& worker, std::span<const ServedTable> tables) {
    workers().start(worker.number(), worker.process());
    workers().insert(worker.number(), worker.process());
    const auto is_alive = [&](std::uint32_t process) { return worker.is_alive(process); };
    const LockedNode node(*this);
    for (const ServedTable& served : tables) {
        node.table_workers().insert(served.redis, served.id, worker.process(), is_alive);
    }
    return node.places().take(worker.process());
}

StripeNumber Zone::stripe_of(const IdHash& id) const {
    // The tables use the first eight bytes.
    std::uint32_t rest = 0;
    static_assert(sizeof(IdHash) == sizeof(std::uint64_t) + sizeof(rest));
    std::memcpy(&rest, id.data() + sizeof(std::uint64_t), sizeof(rest));
    return at(rest);
}

SharedRedis& Zone::find_redis(std::uint32_t name) {
    SharedRedis& known = entry_of(redis_, name);
    if (known.name.value() == name) {
        return known;
    }
    const LockedNode node(*this);
    SharedRedis& claimed = claim_entry(redis_, name);
    if (claimed.name.value() == name) {
        return claimed;
    }
    SharedRedis& oldest = least_recently_used(redis_, name);
    oldest.name.set(name);
    return oldest;
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

SteadyTime Zone::last_recall(std::uint32_t redis, const IdHash& id, const IdHash& group,
                             const Quotas& quotas) const {
    SteadyTime last = recalls_.last(redis, id, 0);
    for (const TableQuota& quota : quotas) {
        if (quota.value) {
            const IdHash& owner = quota.by == CountedBy::kGroup ? group : id;
            last = std::max(last, recalls_.last(redis, owner, quota.value.number()));
        }
    }
    return last;
}

}  // namespace tollgate
