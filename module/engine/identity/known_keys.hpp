#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "module/engine/quota/worker_quota.hpp"
#include "module/key/key_record.hpp"
#include "module/key/subject.hpp"
#include "module/report/statistics.hpp"
#include "module/zone/key_cache.hpp"

namespace tollgate::engine {

class TableSet;

/// A keyed hash of a token or of a SubjectText: SipHash-2-4 with 128 bits. Nobody who does not know
/// the secrets can make two of them with the same hash, and the hash does not reveal the token.
using TokenHash = std::array<std::uint64_t, 2>;

/// A key that a worker has authenticated for a set of plan tables, or a subject: who it is, and its
/// quotas.
struct KnownKey {
    TokenHash token{};
    const TableSet* tables = nullptr;  ///< nullptr: none
    KeyCache::Key key{};
    std::shared_ptr<const KeyRecord> record;
    RequestStatistics* statistics = nullptr;  ///< of its plan: see TableSet::statistics_of
    SteadyTime checked{};                     ///< when Redis gave the record
    SteadyTime touched{};                     ///< when its use was last recorded in the zone
    SteadyTime used{};
    SteadyTime use_noted_until{};  ///< the end of the minute in which its use is noted
    /// The record of the group, if the quotas are those of the key and its group; otherwise
    /// nullptr. Then `checked` is that of the record that was looked up first.
    std::shared_ptr<const KeyRecord> group{};
    KeyCache::Key group_key{};
    WorkerQuota quota{};  ///< of `record`
};

/// The keys that a worker has authenticated lately, in the worker's own memory. Finding one takes
/// no lock, and no SHA-256 of its token. The table has a fixed size; the least recently used keys
/// are dropped. The caller checks that a record is still fresh.
class KnownKeys {
  public:
    /// With random secrets of its own. Throws std::runtime_error if OpenSSL has no random number.
    KnownKeys();

    TokenHash hash(std::string_view token) const noexcept;
    /// The hash of a subject. A client chooses its token: no token has the hash of a subject,
    /// whatever bytes it contains.
    TokenHash hash(const SubjectText& subject) const noexcept;

    /// The key with this token; nullptr if it is not known.
    KnownKey* find(const TokenHash& token, const TableSet& tables, SteadyTime now) noexcept;

    /// Whether this key gets a place: its own one, a free one, or that of another key if it was the
    /// last key that got none there. Of a million keys, none is found again before others need its
    /// place: to store each would take time and evict the keys that come often.
    bool admits(const TokenHash& token, const TableSet& tables) noexcept;
    /// The place for this key: its own one, a free one, or that of the least recently used key.
    /// Pointers to it remain valid. Throws std::bad_alloc.
    KnownKey& place_for(const TokenHash& token, const TableSet& tables);

  private:
    // 16,384 keys take about 8 MiB.
    static constexpr std::size_t kSets = 4096;
    static constexpr std::size_t kWays = 4;
    using Keys = std::array<KnownKey, kWays>;
    struct Set {
        /// A part of the hash of each token: a search reads only the keys with its own.
        std::array<std::uint16_t, kWays> tags{};
        std::unique_ptr<Keys> keys;  ///< nullptr: none
    };

    using Secret = std::array<unsigned char, 16>;

    static Secret new_secret();
    static KnownKey* search(const Set& set, const TokenHash& token, const TableSet& tables);
    static std::size_t number_of_set(const TokenHash& token, const TableSet& tables);
    Set& set_of(const TokenHash& token, const TableSet& tables) {
        return sets_[number_of_set(token, tables)];
    }
    static std::uint16_t tag_of(const TokenHash& token) {
        return static_cast<std::uint16_t>(token[1]);
    }

    Secret secret_ = new_secret();
    Secret secret_of_subjects_ = new_secret();
    std::vector<Set> sets_;
    /// The tag of the last key that was not admitted, for each set.
    std::vector<std::uint16_t> not_admitted_;
};

}  // namespace tollgate::engine
