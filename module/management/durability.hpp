#pragma once

#include <cstdint>

namespace tollgate::management {

/// Whether changes survive a failover: the worst case is last. What is unknown of the present
/// masters is worse than what is unknown of replicas.
enum class Durability : std::uint8_t {
    kConfirmed,    ///< the present masters have them; so does a replica of each one with replicas
    kUnconfirmed,  ///< the present masters have them, and no replica confirmed them in time
    kForbidden,    ///< the present masters have them, and the user may not ask for replicas
    kUnverified,   ///< it is not known whether the present masters have them, and a replica
    kUndone        ///< another server is the master: it may not have them
};

}  // namespace tollgate::management
