#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "module/engine/identity/known_keys.hpp"

namespace tollgate::engine {

/// The keys that a worker has authenticated lately with values of their requests, in the worker's
/// own memory: see KnownKeys. Each has the quotas of its values. Short values that come again are
/// found by their text, without a hash that nobody can foresee.
class KnownValues {
  public:
    /// Throws as KnownKeys.
    KnownValues() : recent_(kRecent) {}

    /// The entry of a known key with these values, which is marked as used when the key was;
    /// nullptr if it is not known.
    KnownKey* find(const KnownKey& key, std::string_view values) noexcept;
    /// KnownKey::token of the entry. Nobody can choose values so that two entries have the same.
    TokenHash token_of(const KnownKey& key, std::string_view values) const noexcept;
    /// See KnownKeys::place_for.
    KnownKey& place_for(const TokenHash& token, const TableSet& tables) {
        return entries_.place_for(token, tables);
    }

  private:
    static constexpr unsigned kBits = 9;
    static constexpr std::size_t kRecent = std::size_t{1} << kBits;
    static constexpr std::size_t kMostText = 80;

    /// The text of values, and the entry that a key had with them.
    struct Recent {
        TokenHash key{};            ///< KnownKey::token of the key
        TokenHash token{};          ///< the token that `entry` had; it may have another by now
        KnownKey* entry = nullptr;  ///< nullptr: none
        std::uint32_t size = 0;
        std::array<char, kMostText> text{};
    };

    Recent& recent_of(const KnownKey& key, std::string_view values) noexcept;

    KnownKeys entries_;
    std::vector<Recent> recent_;  ///< each key with its values may be at one place
};

}  // namespace tollgate::engine
