#include "module/http/redis/tls_session_zone.hpp"

#include <algorithm>
#include <mutex>

namespace tollgate::http {

namespace {

/// Contains the number of the layout, as the name of the zone in shared_memory.cpp.
constexpr std::string_view kTlsZoneName = "tollgate-tls-1";

/// The size of the zone in bytes: the slots, and 64 KiB for the slab pool's own data.
constexpr std::size_t kTlsZoneSize = sizeof(TlsSessionZone::Slots) + (std::size_t{64} << 10U);

/// nginx's init of a zone: `old` is the context of the zone that this one takes over at a reload.
ngx_int_t init_tls_session_zone(ngx_shm_zone_t* zone, void* old) noexcept {
    auto* pool = reinterpret_cast<ngx_slab_pool_t*>(zone->shm.addr);
    auto& block = *static_cast<HttpBlock*>(zone->data);
    auto* slots = static_cast<TlsSessionZone::Slots*>(old != nullptr ? old : pool->data);
    if (slots == nullptr) {
        slots = static_cast<TlsSessionZone::Slots*>(
            ngx_slab_calloc(pool, sizeof(TlsSessionZone::Slots)));
        if (slots == nullptr) {
            return NGX_ERROR;
        }
        pool->data = slots;
    }
    zone->data = slots;
    return guarded(zone->shm.log, static_cast<ngx_int_t>(NGX_ERROR), [&] {
        block.tls_sessions = std::make_unique<TlsSessionZone>(pool->mutex, *slots);
        return static_cast<ngx_int_t>(NGX_OK);
    });
}

}  // namespace

bool add_tls_session_zone(ngx_conf_t* cf, HttpBlock& block) {
    const auto has_tls = [](const auto& redis) { return redis->link.tls != nullptr; };
    if (std::ranges::none_of(block.conf.redis, has_tls)) {
        return true;
    }
    return add_zone(cf, block, kTlsZoneName, kTlsZoneSize, init_tls_session_zone);
}

void TlsSessionZone::store(const Sha256& fingerprint, std::string_view session) noexcept {
    const std::lock_guard lock(mutex_);
    auto* slot = std::ranges::find(slots_.all, fingerprint, &Slot::fingerprint);
    const bool is_known = slot != slots_.all.end();
    // A worker that is killed here leaves an empty slot.
    if (is_known) {
        slot->size = 0;
    }
    if (!session.empty() && session.size() <= sizeof(Slot::session)) {
        if (!is_known) {
            slot = std::ranges::min_element(slots_.all, {}, &Slot::stored);
            slot->size = 0;
        }
        slot->fingerprint = fingerprint;
        slot->stored = ++slots_.stored;
        session.copy(slot->session.data(), session.size());
        slot->size = static_cast<std::uint32_t>(session.size());
    }
}

std::string TlsSessionZone::find(const Sha256& fingerprint) {
    std::string session(sizeof(Slot::session), '\0');  // allocated before the lock is taken
    const std::lock_guard lock(mutex_);
    const auto* slot = std::ranges::find(slots_.all, fingerprint, &Slot::fingerprint);
    if (slot == slots_.all.end()) {
        return {};
    }
    session.resize(slot->size);
    std::copy_n(slot->session.data(), session.size(), session.data());
    return session;
}

}  // namespace tollgate::http
