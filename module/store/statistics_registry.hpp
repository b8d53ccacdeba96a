#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "module/report/statistics.hpp"
#include "module/report/status.hpp"
#include "module/store/named_blocks.hpp"

namespace tollgate {

/// The statistics of a node, in memory that workers share: a block for each Redis and for each
/// plan, found by name once, when a worker starts, and counted in by pointer from then on. So a
/// reload keeps the counts of all that it doesn't rename. See NamedBlocks. Memory of zeros is an
/// empty registry.
class StatisticsRegistry {
    struct Header {
        NodeStatistics node;
        std::uint32_t requests_made;
        std::uint32_t redis_made;
    };
    using RequestsBlocks = NamedBlocks<RequestStatistics>;
    using RedisBlocks = NamedBlocks<RedisStatistics>;

  public:
    /// The name of what has no block of its own.
    static constexpr std::string_view kOthers = "(other)";

    /// A block for one Redis and for one plan, beside those of the others.
    static constexpr std::size_t kLeastMemory =
        sizeof(Header) + 2 * sizeof(RequestsBlocks::Block) + 2 * sizeof(RedisBlocks::Block);

    /// A view of shared memory, aligned to 8 bytes. Throws std::length_error for less than
    /// kLeastMemory.
    explicit StatisticsRegistry(std::span<std::byte> memory);

    /// Where to count for a Redis, and for a plan in a set of tables (see Status). The caller holds
    /// the zone's lock; it counts without.
    RedisStatistics& redis(std::string_view name) const;
    RequestStatistics& requests(std::string_view tables, std::string_view plan) const;

    NodeStatistics& node() const { return header_->node; }

    /// Copies what was counted into a status; needs no lock.
    void copy_to(Status& status) const;

  private:
    StatisticsRegistry(Header& header, std::span<std::byte> blocks);

    Header* header_;
    RedisBlocks redis_;
    RequestsBlocks requests_;
};

}  // namespace tollgate
