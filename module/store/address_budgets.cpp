#include "module/store/address_budgets.hpp"

#include <zlib.h>

#include <algorithm>
#include <type_traits>

namespace tollgate {

namespace {

std::uint32_t crc32_of(const void* bytes, std::size_t size, std::uint32_t seed) {
    return static_cast<std::uint32_t>(crc32_z(seed, static_cast<const Bytef*>(bytes), size));
}

}  // namespace

AddressBudgets::AddressBudgets(std::span<std::byte> memory)
    : sets_(reinterpret_cast<Set*>(memory.data()), memory.size() / sizeof(Set)) {
    static_assert(std::is_trivially_copyable_v<Set> &&
                  std::has_unique_object_representations_v<Owner>);
}

std::uint32_t AddressBudgets::table_id(std::string_view name) {
    return crc32_of(name.data(), name.size(), 0);
}

AddressBudgets::Set& AddressBudgets::set_of(const Owner& owner) {
    return sets_[crc32_of(&owner, sizeof(owner), 0) % sets_.size()];
}

AddressBudgets::Entry* AddressBudgets::find(const Owner& owner) {
    auto& entries = set_of(owner).entries;
    const auto found = std::ranges::find_if(
        entries, [&](const Entry& entry) { return entry.last_seen != 0 && entry.owner == owner; });
    return found == std::ranges::end(entries) ? nullptr : &*found;
}

AddressBudgets::Entry& AddressBudgets::find_or_make(const Owner& owner) {
    if (Entry* entry = find(owner)) {
        return *entry;
    }
    Entry& entry = *std::ranges::min_element(set_of(owner).entries, {}, &Entry::last_seen);
    entry = Entry{.owner = owner, .last_seen = 0, .windows = {}};
    return entry;
}

std::vector<WindowState> AddressBudgets::charge(const Owner& owner, std::span<const Rate> rates,
                                                std::int64_t cost, Instant now) {
    Entry* entry = find(owner);
    std::vector<Window> windows;
    std::vector<WindowState> states;
    for (const Rate& rate : rates) {
        Window window{rate.period.count(), window_number(now, rate.period), 0};
        if (entry != nullptr) {
            const auto same = std::ranges::find_if(entry->windows, [&](const Window& known) {
                return known.period == window.period && known.number == window.number;
            });
            window.count = same == std::end(entry->windows) ? 0 : same->count;
        }
        const auto left = std::max<std::int64_t>(rate.requests - window.count, 0);
        windows.push_back(window);
        states.push_back({rate, left, window_end(window.number, rate.period), left < cost});
    }
    if (cost == 0) {
        return states;
    }
    if (std::ranges::none_of(states, &WindowState::exhausted)) {
        entry = &find_or_make(owner);
        std::ranges::fill(entry->windows, Window{});
        for (std::size_t i = 0; i < windows.size(); ++i) {
            windows[i].count += cost;
            entry->windows[i] = windows[i];
            states[i].remaining -= cost;
        }
    }
    if (entry != nullptr) {
        entry->last_seen = std::max<std::int64_t>(now.time_since_epoch().count(), 1);
    }
    return states;
}

}  // namespace tollgate
