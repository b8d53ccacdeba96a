#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

#include "module/redis/topology/server_address.hpp"

namespace tollgate::redis {

/// Access of this process to the SharedMaster of a Sentinel group. The functions do not throw,
/// except for std::bad_alloc where it is mentioned.
class MasterBoard {
  public:
    using Time = std::chrono::steady_clock::time_point;

    /// What the workers know.
    struct News {
        std::uint32_t generation = 0;  ///< changes when the address changes
        std::uint32_t searches = 0;    ///< number of searches that have ended
    };

    MasterBoard() = default;
    MasterBoard(const MasterBoard&) = delete;
    MasterBoard& operator=(const MasterBoard&) = delete;
    virtual ~MasterBoard() = default;

    virtual News news() noexcept = 0;
    /// Nothing if no master is known. Throws std::bad_alloc.
    virtual std::optional<ServerAddress> address() = 0;
    /// See SharedMaster.
    virtual bool claim(Time now, Time end) noexcept = 0;
    virtual void take_over(Time end) noexcept = 0;
    virtual void release() noexcept = 0;
    virtual void depose(std::uint32_t server, Time until) noexcept = 0;
    virtual std::uint32_t deposed(Time now) noexcept = 0;
    virtual void publish(const ServerAddress& master) noexcept = 0;
};

}  // namespace tollgate::redis
