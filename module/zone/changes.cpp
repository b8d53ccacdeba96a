#include "module/zone/changes.hpp"

#include <algorithm>
#include <charconv>
#include <optional>

#include "module/zone/set_associative.hpp"

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

std::uint64_t change_hash(std::uint32_t redis, std::span<const unsigned char> hash) {
    return place_hash(hash.first<8>(), redis);
}

/// Calls `note` with the hash of each record that may have this name.
template <typename Note>
void for_each_hash(std::uint32_t redis, std::string_view name, Note note) {
    note(change_hash(redis, id_hash(name)));
    if (const auto digest = read_digest(name)) {
        note(change_hash(redis, *digest));
    }
}

}  // namespace

Changes::Changes(std::span<LatestTimes::Set> sets)
    : noticed_(sets.first(sets.size() / 2)), made_(sets.subspan(sets.size() / 2)) {}

// Every worker receives a message: a later time that another worker recorded remains.

void Changes::note(std::uint32_t redis, std::string_view name, SteadyTime now, SteadyTime made) {
    for_each_hash(redis, name, [&](std::uint64_t hash) {
        made_.raise(hash, std::min(made, now));
        noticed_.raise(hash, now);
    });
}

void Changes::note_read(std::uint32_t redis, std::string_view name, SteadyTime now,
                        SteadyTime earliest, SteadyTime latest) {
    for_each_hash(redis, name, [&](std::uint64_t hash) {
        const SteadyTime known = made_.exact(hash);
        if (known == SteadyTime() || known < earliest) {
            made_.raise(hash, std::min(latest, now));
        }
        noticed_.raise(hash, now);
    });
}

SteadyTime Changes::last(std::uint32_t redis, const IdHash& id) const {
    return noticed_.last(change_hash(redis, id));
}

SteadyTime Changes::last(std::uint32_t redis, const KeyDigest& digest) const {
    return noticed_.last(change_hash(redis, digest));
}

SteadyTime Changes::last_made(std::uint32_t redis, const IdHash& id) const {
    return made_.last(change_hash(redis, id));
}

SteadyTime Changes::last_made(std::uint32_t redis, const KeyDigest& digest) const {
    return made_.last(change_hash(redis, digest));
}

}  // namespace tollgate
