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

/// The statistics of a node, in memory that workers share. There is a block for each Redis and for
/// each plan. A worker finds a block by name once, when it starts, and then counts through a
/// pointer. A reload keeps the counts of everything that keeps its name. See NamedBlocks. Memory of
/// zeros is an empty registry.
class StatisticsRegistry {
    struct Header {
        NodeStatistics node;
        std::uint32_t requests_made;
        std::uint32_t redis_made;
    };
    using RequestsBlocks = NamedBlocks<RequestStatistics>;
    using RedisBlocks = NamedBlocks<RedisStatistics>;

  public:
    /// The name of the shared block.
    static constexpr std::string_view kOthers = "(other)";

    /// Room for one Redis and one plan, and for the shared blocks.
    static constexpr std::size_t kLeastMemory =
        sizeof(Header) + 2 * sizeof(RequestsBlocks::Block) + 2 * sizeof(RedisBlocks::Block);

    /// A view of shared memory, aligned to 8 bytes. Throws std::length_error if it has less than
    /// kLeastMemory bytes.
    explicit StatisticsRegistry(std::span<std::byte> memory);

    /// The counters of a Redis, and of a plan in a set of tables (see Status). The caller holds the
    /// zone's lock; counting needs no lock.
    RedisStatistics& redis(std::string_view name) const;
    RequestStatistics& requests(std::string_view tables, std::string_view plan) const;

    NodeStatistics& node() const { return header_->node; }

    /// Copies the counters into a status; needs no lock.
    void copy_to(Status& status) const;

  private:
    StatisticsRegistry(Header& header, std::span<std::byte> blocks);

    Header* header_;
    RedisBlocks redis_;
    RequestsBlocks requests_;
};

}  // namespace tollgate
