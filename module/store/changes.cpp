#include "module/store/changes.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <charconv>
#include <optional>
#include <stdexcept>

#include "module/store/place_hash.hpp"

namespace tollgate {

namespace {

std::optional<KeyDigest> read_digest(std::string_view text) {
    KeyDigest digest{};
    if (text.size() != 2 * digest.size()) {
        return std::nullopt;
    }
    for (std::size_t i = 0; i < digest.size(); ++i) {
        const char* end = text.data() + 2 * i + 2;
        const auto read = std::from_chars(end - 2, end, digest[i], 16);
        if (read.ec != std::errc{} || read.ptr != end) {
            return std::nullopt;
        }
    }
    return digest;
}

}  // namespace

Changes::Changes(std::span<SteadyTime> slots) : slots_(slots.first(std::bit_floor(slots.size()))) {
    if (slots.empty()) {
        throw std::length_error("no memory for changes");
    }
}

SteadyTime& Changes::slot(std::uint32_t redis, std::span<const unsigned char> hash) const {
    return slots_[place_hash(hash.first<8>(), redis) & (slots_.size() - 1)];
}

void Changes::note(std::uint32_t redis, std::string_view name, SteadyTime now) {
    // Every worker receives the message. Do not replace a later time that another worker recorded.
    const auto mark = [&](std::span<const unsigned char> hash) {
        const std::atomic_ref last(slot(redis, hash));
        last.store(std::max(last.load(std::memory_order_relaxed), now), std::memory_order_relaxed);
    };
    mark(id_hash(name));
    if (const auto digest = read_digest(name)) {
        mark(*digest);
    }
}

SteadyTime Changes::last(std::uint32_t redis, const IdHash& id) const {
    return std::atomic_ref(slot(redis, id)).load(std::memory_order_relaxed);
}

SteadyTime Changes::last(std::uint32_t redis, const KeyDigest& digest) const {
    return std::atomic_ref(slot(redis, digest)).load(std::memory_order_relaxed);
}

}  // namespace tollgate
