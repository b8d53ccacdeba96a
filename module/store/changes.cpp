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

/// The bits of a slot for the time between a change and its notice: 69 minutes. Changes are kept in
/// Redis for an hour.
constexpr unsigned kDelayBits = 22;
constexpr std::int64_t kLongestDelay = (std::int64_t{1} << kDelayBits) - 1;

SteadyTime noticed_in(std::uint64_t slot) {
    return SteadyTime(static_cast<std::int64_t>(slot >> kDelayBits));
}

SteadyTime made_in(std::uint64_t slot) {
    return noticed_in(slot) - SteadyTime(static_cast<std::int64_t>(slot & kLongestDelay));
}

std::uint64_t make_slot(SteadyTime noticed, SteadyTime made) {
    const std::int64_t delay = std::clamp<std::int64_t>((noticed - made).count(), 0, kLongestDelay);
    return static_cast<std::uint64_t>(noticed.count()) << kDelayBits |
           static_cast<std::uint64_t>(delay);
}

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

Changes::Changes(std::span<std::uint64_t> slots)
    : slots_(slots.first(std::bit_floor(slots.size()))) {
    if (slots.empty()) {
        throw std::length_error("no memory for changes");
    }
}

std::uint64_t& Changes::slot(std::uint32_t redis, std::span<const unsigned char> hash) const {
    return slots_[place_hash(hash.first<8>(), redis) & (slots_.size() - 1)];
}

std::uint64_t Changes::read(std::uint32_t redis, std::span<const unsigned char> hash) const {
    return std::atomic_ref(slot(redis, hash)).load(std::memory_order_relaxed);
}

/// `made` returns when the last change was made, given when it was by what is stored.
template <typename Made>
void Changes::mark(std::uint32_t redis, std::string_view name, SteadyTime now, Made made) {
    // Every worker receives the message. Do not replace a later time that another worker recorded.
    const auto mark_hash = [&](std::span<const unsigned char> hash) {
        const std::uint64_t old = read(redis, hash);
        std::atomic_ref(slot(redis, hash))
            .store(make_slot(std::max(noticed_in(old), now), made(made_in(old))),
                   std::memory_order_relaxed);
    };
    mark_hash(id_hash(name));
    if (const auto digest = read_digest(name)) {
        mark_hash(*digest);
    }
}

void Changes::note(std::uint32_t redis, std::string_view name, SteadyTime now, SteadyTime made) {
    mark(redis, name, now, [&](SteadyTime old) { return std::max(old, made); });
}

void Changes::note_read(std::uint32_t redis, std::string_view name, SteadyTime now,
                        SteadyTime earliest, SteadyTime latest) {
    mark(redis, name, now, [&](SteadyTime old) { return old >= earliest ? old : latest; });
}

SteadyTime Changes::last(std::uint32_t redis, const IdHash& id) const {
    return noticed_in(read(redis, id));
}

SteadyTime Changes::last(std::uint32_t redis, const KeyDigest& digest) const {
    return noticed_in(read(redis, digest));
}

SteadyTime Changes::last_made(std::uint32_t redis, const IdHash& id) const {
    return made_in(read(redis, id));
}

SteadyTime Changes::last_made(std::uint32_t redis, const KeyDigest& digest) const {
    return made_in(read(redis, digest));
}

}  // namespace tollgate
