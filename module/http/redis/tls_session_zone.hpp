#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "module/http/shared_memory.hpp"
#include "module/key/digest.hpp"

namespace tollgate::http {

/// Adds the zone for TLS sessions to the configuration, if a Redis has TLS. False after a message.
bool add_tls_session_zone(ngx_conf_t* cf, HttpBlock& block);

/// The last TLS session of each Redis, in shared memory. All workers of a node resume it, also
/// those that a reload starts: otherwise, a reload would cost the Redis a full handshake for each
/// connection of each worker.
class TlsSessionZone {
  public:
    struct Slot {
        Sha256 fingerprint;
        std::uint32_t size;    ///< of the session; 0: none
        std::uint32_t stored;  ///< when it was stored, as a count of all that were
        std::array<char, 8144> session;
    };
    /// Further Redis replace the session that was stored first.
    struct Slots {
        std::uint32_t stored;
        std::array<Slot, 16> all;
    };

    /// The mutex protects the slots.
    TlsSessionZone(ngx_shmtx_t& mutex, Slots& slots) : mutex_(mutex), slots_(slots) {}

    /// Replaces the session of the context with this fingerprint. Empty: removes it. A session that
    /// is longer than a slot is not stored.
    void store(const Sha256& fingerprint, std::string_view session) noexcept;
    /// A copy of the session; empty if there is none.
    std::string find(const Sha256& fingerprint);

  private:
    SlabMutex mutex_;
    Slots& slots_;
};

}  // namespace tollgate::http
