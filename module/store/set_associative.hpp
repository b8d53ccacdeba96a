#pragma once

#include <zlib.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <type_traits>

namespace tollgate {

/// A name of the configuration as a number that is the same in every process, for keys in shared
/// memory.
inline std::uint32_t name_id(std::string_view name) {
    return static_cast<std::uint32_t>(
        crc32_z(0, reinterpret_cast<const Bytef*>(name.data()), name.size()));
}

/// A table of fixed size in memory that workers share: eight places a set, in which the least
/// recently seen entry gives way to a new one. Memory of zeros is an empty table, and a worker that
/// is killed in the middle of a write leaves one entry wrong at worst. The caller holds the zone's
/// lock.
///
/// Entry is trivially copyable, with `key`, every byte of which tells keys apart, and `last_seen`,
/// in ms, 0 where the place is free; the user sets it.
template <typename Entry>
class SetAssociative {
  public:
    using Key = decltype(Entry::key);

    /// A view of shared memory, aligned for Entry and large enough for one set of eight.
    explicit SetAssociative(std::span<std::byte> memory)
        : sets_(reinterpret_cast<Set*>(memory.data()), memory.size() / sizeof(Set)) {
        static_assert(std::is_trivially_copyable_v<Entry> &&
                      std::has_unique_object_representations_v<Key>);
    }

    /// The key's entry, or nullptr.
    Entry* find(const Key& key) const {
        auto& entries = set_of(key).entries;
        const auto found = std::ranges::find_if(
            entries, [&](const Entry& entry) { return entry.last_seen != 0 && entry.key == key; });
        return found == std::ranges::end(entries) ? nullptr : &*found;
    }

    /// The key's entry; where there is none, a new one, zero but for its key.
    Entry& find_or_make(const Key& key) const {
        if (Entry* entry = find(key)) {
            return *entry;
        }
        Entry& entry = *std::ranges::min_element(set_of(key).entries, {}, &Entry::last_seen);
        entry = Entry{};
        entry.key = key;
        return entry;
    }

  private:
    static constexpr std::size_t kWays = 8;
    struct Set {
        Entry entries[kWays];
    };

    Set& set_of(const Key& key) const {
        const auto hash = crc32_z(0, reinterpret_cast<const Bytef*>(&key), sizeof(key));
        return sets_[hash % sets_.size()];
    }

    std::span<Set> sets_;
};

}  // namespace tollgate
