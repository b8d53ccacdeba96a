#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "module/report/statistics.hpp"
#include "module/zone/named_blocks.hpp"

namespace tollgate {

/// Counters in memory that workers share, by name and worker. Each worker has a block of its own
/// for each name, in cache lines that no other worker writes. If there is no room for it, the
/// worker counts in the block of the name. Blocks are never freed: the next worker of the same
/// number continues to count in them. Memory of zeros has no blocks. A worker that is killed while
/// it creates a block leaves none.
///
/// `Shared` is what a name has in common: a default-constructible type with a member `counts`,
/// which consists of counters (see add_counters).
template <typename Shared>
class WorkerCounts {
  public:
    using Names = NamedBlocks<Shared>;
    using Counts = decltype(Shared::counts);

    /// The counters of one worker for one name.
    struct alignas(kCacheLine) Block {
        std::uint32_t name;  ///< Names::number_of
        std::uint32_t worker;
        Counts counts;
    };

    /// A view of the names, and of the workers' blocks and the number of them that were created.
    /// There may be no blocks of workers.
    WorkerCounts(const Names& names, std::span<Block> blocks, std::uint32_t& made)
        : names_(names), blocks_(blocks), made_(&made) {}

    struct Found {
        Shared& shared;
        Counts& counts;
    };

    /// Where the worker counts for this name; the caller holds a lock. `others` is the name, in
    /// both parts, of the block for names without room. All workers share that block.
    Found find_or_make(std::string_view first, std::string_view second, std::size_t worker,
                       std::string_view others) const {
        auto& named = names_.find_or_make(first, second, others);
        Counts* own = &named == names_.others()
                          ? nullptr
                          : own_counts(names_.number_of(named), static_cast<std::uint32_t>(worker));
        return {named.contents, own != nullptr ? *own : named.contents.counts};
    }

    /// Calls `visit` with each name's block and its counts, of all workers together. The block of
    /// names without room comes last, if it is used. Needs no lock.
    template <typename Visit>
    void for_each(Visit visit) const {
        const auto names = names_.made();
        std::vector<Counts> sums;
        sums.reserve(names.size());
        for (const auto& named : names) {
            sums.push_back(named.contents.counts);
        }
        for (const Block& block : made()) {
            // A worker may have created a name since.
            if (block.name < sums.size()) {
                add_counters(sums[block.name], block.counts);
            }
        }
        for (std::size_t i = 0; i < sums.size(); ++i) {
            visit(names[i], sums[i]);
        }
        if (const auto* others = names_.others()) {
            visit(*others, Counts(others->contents.counts));
        }
    }

    /// Calls `visit` with the counts of each block of this worker. Needs no lock.
    template <typename Visit>
    void for_each_of(std::size_t worker, Visit visit) const {
        for (Block& block : made()) {
            if (block.worker == worker) {
                visit(block.counts);
            }
        }
    }

  private:
    std::span<Block> made() const {
        const std::size_t number = std::atomic_ref(*made_).load(std::memory_order_acquire);
        return blocks_.first(std::min(number, blocks_.size()));
    }

    /// nullptr if there is no room.
    Counts* own_counts(std::uint32_t name, std::uint32_t worker) const {
        const auto before = made();
        const auto found = std::ranges::find_if(before, [&](const Block& block) {
            return block.name == name && block.worker == worker;
        });
        if (found != before.end()) {
            return &found->counts;
        }
        if (before.size() == blocks_.size()) {
            return nullptr;
        }
        Block& block = blocks_[before.size()];
        block.name = name;
        block.worker = worker;
        std::atomic_ref(*made_).store(static_cast<std::uint32_t>(before.size() + 1),
                                      std::memory_order_release);
        return &block.counts;
    }

    Names names_;
    std::span<Block> blocks_;
    std::uint32_t* made_;
};

}  // namespace tollgate
