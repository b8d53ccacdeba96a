#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "module/key/key_record.hpp"

namespace tollgate {

/// The size of a cache line, in bytes. A line that several processors write moves between them.
constexpr std::size_t kCacheLine = 64;

/// Blocks of memory that workers share. Each block has a name in two parts and is created when the
/// name is first used. Blocks are never freed. If there is no room for another name, or a name is
/// too long, it shares the last block with others. Memory of zeros has no blocks. A worker that is
/// killed while it creates a block leaves none.
template <typename Contents>
class NamedBlocks {
  public:
    /// The maximum length of names with a block of their own, in bytes.
    static constexpr std::size_t kLongestFirst = 128;
    static constexpr std::size_t kLongestSecond = kLongestId;

    struct alignas(kCacheLine) Block {
        std::uint16_t first_length;
        std::uint16_t second_length;
        char first[kLongestFirst];
        char second[kLongestSecond];
        Contents contents;

        std::string_view first_name() const { return {first, first_length}; }
        std::string_view second_name() const { return {second, second_length}; }
        void set_name(std::string_view first_part, std::string_view second_part) {
            first_length = static_cast<std::uint16_t>(first_part.copy(first, kLongestFirst));
            second_length = static_cast<std::uint16_t>(second_part.copy(second, kLongestSecond));
        }
    };

    /// A view of at least two blocks, and of the number of blocks that were created.
    NamedBlocks(std::span<Block> blocks, std::uint32_t& made)
        : blocks_(blocks.first(blocks.size() - 1)), others_(&blocks.back()), made_(&made) {}

    /// The block with this name; the caller holds a lock. `others` is the name, in
    /// both parts, of the shared block.
    Block& find_or_make(std::string_view first, std::string_view second,
                        std::string_view others) const {
        const auto before = made();
        const auto found = std::ranges::find_if(before, [&](const Block& block) {
            return block.first_name() == first && block.second_name() == second;
        });
        if (found != before.end()) {
            return *found;
        }
        if (before.size() == blocks_.size() || first.size() > kLongestFirst ||
            second.size() > kLongestSecond) {
            others_->set_name(others, others);
            return *others_;
        }
        Block& block = blocks_[before.size()];
        block.set_name(first, second);
        std::atomic_ref(*made_).store(static_cast<std::uint32_t>(before.size() + 1),
                                      std::memory_order_release);
        return block;
    }

    /// The created blocks, in order of creation; needs no lock.
    std::span<Block> made() const {
        const std::size_t number = std::atomic_ref(*made_).load(std::memory_order_acquire);
        return blocks_.first(std::min(number, blocks_.size()));
    }

    /// The number of a block, which stays the same in every process.
    std::uint32_t number_of(const Block& block) const {
        return static_cast<std::uint32_t>(&block - blocks_.data());
    }

    /// The shared block; nullptr while no name uses it.
    const Block* others() const { return others_->first_length == 0 ? nullptr : others_; }

  private:
    std::span<Block> blocks_;
    Block* others_;
    std::uint32_t* made_;
};

}  // namespace tollgate
