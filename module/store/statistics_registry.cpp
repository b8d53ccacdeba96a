#include "module/store/statistics_registry.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>

namespace tollgate {

namespace {

/// As many blocks as fit into the memory.
template <typename Block>
std::span<Block> blocks_in(std::span<std::byte> memory) {
    return {reinterpret_cast<Block*>(memory.data()), memory.size() / sizeof(Block)};
}

/// The number of bytes for the blocks of Redis. There are many plans with small blocks, and few
/// Redis.
template <typename Block>
std::size_t size_for_redis(std::size_t size) {
    return std::max<std::size_t>(size / 4 / sizeof(Block), 2) * sizeof(Block);
}

std::span<std::byte> checked(std::span<std::byte> memory) {
    if (memory.size() < StatisticsRegistry::kLeastMemory) {
        throw std::length_error("no room for statistics");
    }
    return memory;
}

}  // namespace

StatisticsRegistry::StatisticsRegistry(std::span<std::byte> memory)
    : StatisticsRegistry(*reinterpret_cast<Header*>(checked(memory).data()),
                         memory.subspan(sizeof(Header))) {}

StatisticsRegistry::StatisticsRegistry(Header& header, std::span<std::byte> blocks)
    : header_(&header),
      redis_(blocks_in<RedisBlocks::Block>(
                 blocks.first(size_for_redis<RedisBlocks::Block>(blocks.size()))),
             header.redis_made),
      requests_(blocks_in<RequestsBlocks::Block>(
                    blocks.subspan(size_for_redis<RedisBlocks::Block>(blocks.size()))),
                header.requests_made) {}

RedisStatistics& StatisticsRegistry::redis(std::string_view name) const {
    return redis_.find_or_make(name, "", kOthers);
}

RequestStatistics& StatisticsRegistry::requests(std::string_view tables,
                                                std::string_view plan) const {
    return requests_.find_or_make(tables, plan, kOthers);
}

void StatisticsRegistry::copy_to(Status& status) const {
    const auto add_redis = [&](const RedisBlocks::Block& block) {
        status.redis.push_back({.name = std::string(block.first_name()), .counts = block.contents});
    };
    const auto add_requests = [&](const RequestsBlocks::Block& block) {
        status.requests.push_back(
            {std::string(block.first_name()), std::string(block.second_name()), block.contents});
    };
    status.node = header_->node;
    std::ranges::for_each(redis_.made(), add_redis);
    if (const auto* others = redis_.others()) {
        add_redis(*others);
    }
    std::ranges::for_each(requests_.made(), add_requests);
    if (const auto* others = requests_.others()) {
        add_requests(*others);
    }
}

}  // namespace tollgate
