#include "module/zone/statistics_registry.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>

namespace tollgate {

namespace {

/// Takes blocks from the beginning of the memory: as many as fit into `size` bytes, but at least
/// `least`.
template <typename Block>
std::span<Block> take(std::span<std::byte>& memory, std::size_t size, std::size_t least) {
    const std::size_t number = std::max(size / sizeof(Block), least);
    const std::span blocks(reinterpret_cast<Block*>(memory.data()), number);
    memory = memory.subspan(number * sizeof(Block));
    return blocks;
}

std::span<std::byte> checked(std::span<std::byte> memory) {
    if (memory.size() < StatisticsRegistry::kLeastMemory) {
        throw std::length_error("no room for statistics");
    }
    return memory;
}

}  // namespace

/// Names have a part of the memory of their own, so that the blocks of many workers leave room for
/// names that a reload adds. There are many plans with small blocks, and few Redis.
struct StatisticsRegistry::Parts {
    explicit Parts(std::span<std::byte> memory)
        : header(*reinterpret_cast<Header*>(memory.data())) {
        auto rest = memory.subspan(sizeof(Header));
        const std::size_t size = rest.size();
        redis = take<Redis::Names::Block>(rest, size / 15, 2);
        requests = take<Requests::Names::Block>(rest, std::min(size / 3, rest.size()), 2);
        // In the smallest memory: two workers, their predecessors, and those of another name.
        const std::size_t least = std::min(rest.size() / 3, 6 * sizeof(Redis::Block));
        redis_of_workers = take<Redis::Block>(rest, std::max(rest.size() / 9 * 2, least), 0);
        requests_of_workers = take<Requests::Block>(rest, rest.size(), 0);
    }

    Header& header;
    std::span<Redis::Names::Block> redis;
    std::span<Requests::Names::Block> requests;
    std::span<Redis::Block> redis_of_workers;
    std::span<Requests::Block> requests_of_workers;
};

StatisticsRegistry::StatisticsRegistry(std::span<std::byte> memory)
    : StatisticsRegistry(Parts(checked(memory))) {}

StatisticsRegistry::StatisticsRegistry(const Parts& parts)
    : header_(&parts.header),
      redis_({parts.redis, header_->redis_made}, parts.redis_of_workers,
             header_->redis_blocks_made),
      requests_({parts.requests, header_->requests_made}, parts.requests_of_workers,
                header_->requests_blocks_made) {}

RedisCounts StatisticsRegistry::redis(std::string_view name, std::size_t place) const {
    const auto found = redis_.find_or_make(name, "", place, kOthers);
    return {found.counts, found.shared.workers};
}

RequestStatistics& StatisticsRegistry::requests(std::string_view tables, std::string_view plan,
                                                std::size_t worker) const {
    return requests_.find_or_make(tables, plan, worker, kOthers).counts;
}

void StatisticsRegistry::lose_carried(std::size_t place) const {
    redis_.for_each_of(place, [](RedisStatistics& counts) { counts.lose_carried(); });
}

void StatisticsRegistry::copy_to(Status& status) const {
    status.node = header_->node;
    redis_.for_each([&](const auto& block, const RedisStatistics& counts) {
        status.redis.push_back({.name = std::string(block.first_name()),
                                .counts = counts,
                                .workers = block.contents.workers});
    });
    requests_.for_each([&](const auto& block, const RequestStatistics& counts) {
        status.requests.push_back(
            {std::string(block.first_name()), std::string(block.second_name()), counts});
    });
}

}  // namespace tollgate
