#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <optional>

#include "module/redis/topology/server_address.hpp"

namespace tollgate::redis {

/// What the workers of a node share about the master of a Sentinel group: its address, and which of
/// them searches for it. It is in the zone: plain memory, all zeros at first. Each function needs
/// the lock of the zone's node.
class SharedMaster {
  public:
    using Time = std::chrono::steady_clock::time_point;

    /// What publish() has changed.
    enum class Change : std::uint8_t {
        kNone,
        kFirst,    ///< no master of this group was known
        kSwitched  ///< another address than before
    };

    /// The last published address. `group` identifies the configuration of the Sentinels: a reload
    /// may change it, and the address of another group is not returned. Throws std::bad_alloc.
    std::optional<ServerAddress> address(std::uint32_t group) const;
    /// Changes when address() changes.
    std::uint32_t generation() const noexcept { return generation_; }
    /// The number of searches that have ended.
    std::uint32_t searches() const noexcept { return searches_; }

    /// Begins a search of this process, or continues it, until the time `end`. Returns false while
    /// another process searches. A process that dies loses its claim at `end`.
    bool claim(std::uint32_t process, Time now, Time end) noexcept;
    /// Begins a search of this process until the time `end`, although another process searches.
    void take_over(std::uint32_t process, Time end) noexcept;
    /// Ends a search of this process without a result.
    void release(std::uint32_t process) noexcept;
    /// This server (see server_hash) is not the master any more, whatever it says until `until`.
    void depose(std::uint32_t server, Time until) noexcept;
    /// The server that was deposed last; 0: none, or its time is over.
    std::uint32_t deposed(Time now) const noexcept;
    /// Ends a search: this is the master. The host must be valid: see is_valid_host.
    Change publish(std::uint32_t process, std::uint32_t group,
                   const ServerAddress& master) noexcept;

  private:
    std::uint32_t group_;
    std::uint32_t generation_;
    std::uint32_t searches_;
    std::uint32_t searcher_;  ///< process; 0: none
    Time search_end_;
    Time deposed_until_;
    std::uint32_t deposed_;
    std::uint16_t port_;  ///< 0: no address
    std::uint8_t length_;
    std::array<char, 255> host_;
};

}  // namespace tollgate::redis
