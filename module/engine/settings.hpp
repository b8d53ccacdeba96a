#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "module/redis/protocol/schema.hpp"

namespace tollgate::engine {

/// `on_failure`: what happens to known keys while Redis is unreachable.
enum class FailurePolicy : std::uint8_t {
    kLocal,  ///< continue counting in shared memory
    kAllow,  ///< grant without counting
    kDeny,   ///< refuse with 503
};

/// All policies.
constexpr std::array kFailurePolicies{FailurePolicy::kLocal, FailurePolicy::kAllow,
                                      FailurePolicy::kDeny};

/// The value of `on_failure`.
constexpr std::string_view name_of(FailurePolicy policy) {
    constexpr std::array<std::string_view, kFailurePolicies.size()> kNames{"local", "allow",
                                                                           "deny"};
    return kNames[static_cast<std::size_t>(policy)];
}

/// The settings of a `tollgate_redis` that the engine uses.
struct RedisSettings {
    std::string name;
    /// Identifies the data: the hash of the servers, the database and the prefix. A reload that
    /// changes them begins with none of the old data in the zone; one that changes the name keeps
    /// it.
    std::uint32_t name_hash = 0;
    redis::Keys keys{""};
    bool is_cluster = false;  ///< Redis Cluster: keys belong to slots
    std::chrono::milliseconds timeout{100};
    FailurePolicy on_failure = FailurePolicy::kLocal;
    std::chrono::milliseconds key_cache = std::chrono::minutes(1);
    std::chrono::milliseconds stale_keys = std::chrono::hours(1);
};

}  // namespace tollgate::engine
