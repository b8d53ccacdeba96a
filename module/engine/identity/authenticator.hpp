#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "module/engine/identity/key_lookups.hpp"
#include "module/engine/identity/key_uses.hpp"
#include "module/engine/identity/known_keys.hpp"
#include "module/engine/table_set.hpp"
#include "module/key/invalid_key.hpp"
#include "module/key/subject.hpp"
#include "module/zone/key_cache.hpp"

namespace tollgate::engine {

struct IdentityParts;

/// Finds the record of one request's key: in the worker's memory, or else in the zone. If it is in
/// neither, or may have changed, Redis has to be asked. The record of a subject is made by the
/// node.
class Authenticator {
  public:
    enum class Result {
        kValid,    ///< the key is valid, and its record is the current one
        kInvalid,  ///< there is no such key, or it is malformed, disabled or expired
        kLookup,   ///< a look-up must tell
    };
    /// The record of a key that is valid, or was valid when Redis was last asked; otherwise
    /// nullptr.
    using Record = std::shared_ptr<const KeyRecord>;

    /// The arguments must outlive it.
    Authenticator(IdentityParts& parts, TableSet& tables) : parts_(parts), tables_(tables) {}

    /// What is known of a key, and its record. A record of kLookup serves while Redis is
    /// unreachable.
    struct Found {
        Result result;
        Record record{};
    };

    /// Looks for the record of this token. Throws std::bad_alloc.
    Found find(std::string_view token, ExactSteadyTime now);
    /// The record of a valid subject, which is kept where those of keys are: what follows treats it
    /// as a key that is known. Throws std::bad_alloc.
    Record find(const Subject& subject, ExactSteadyTime now);
    /// Authenticates the key by the result of the look-up. The result is never kLookup. Throws
    /// std::bad_alloc.
    Found accept(const redis::Lookup& lookup);

    /// What is wrong with the key, after kInvalid.
    const InvalidKey& invalid() const { return invalid_; }
    const KeyCache::Key& key() const { return key_; }
    /// The hash of the record's id.
    const IdHash& id() const { return id_; }
    /// Whether the key is served while Redis is unreachable: it was valid when Redis was last
    /// asked, within `stale_keys`. Always true for a subject.
    bool is_trusted() const { return is_trusted_; }
    /// The priority of the look-up. A key of priority kUnknown may be made up.
    KeyLookups::Priority priority() const { return priority_; }
    /// The worker's entry of a key that find() found there, also if a look-up must tell but Redis
    /// is unreachable; otherwise nullptr. Another request may give the entry to another key: call
    /// forget_known() before the request waits.
    KnownKey* known() const { return known_; }
    /// Where requests of a key are counted that find() found in the worker's memory; otherwise
    /// nullptr.
    RequestStatistics* statistics() const { return statistics_; }
    /// If known() has the key: when a change of it or of its id was last noticed; 0: never.
    SteadyTime changed() const { return changed_; }
    void forget_known() noexcept { known_ = nullptr; }

    /// The request uses the key with this record. Notes that once.
    void note_use(const KeyRecord& record) noexcept;

  private:
    KeyUses::Kind use_kind() const {
        return is_subject_ ? KeyUses::Kind::kSubject : KeyUses::Kind::kKey;
    }

    bool has_changed(const KnownKey& known);
    bool is_current(const KnownKey& known, ExactSteadyTime now);
    bool is_outdated(const KeyCache::Key& key, const IdHash& id, SteadyTime checked) const;
    void recall(const KnownKey& known, ExactSteadyTime now);
    void note_use(KnownKey& known, ExactSteadyTime now) noexcept;
    void keep_record(KnownKey& known, SteadyTime now) const noexcept;
    void keep_record_of_subject(const KeyRecord& record) const;
    Found find_in_zone();
    void remember(const TokenHash& token, const Record& record);

    IdentityParts& parts_;
    TableSet& tables_;
    KeyCache::Key key_{};
    IdHash id_{};
    InvalidKey invalid_;
    /// When the record was looked up, if it was known before the request, or was made.
    SteadyTime checked_{};
    KnownKey* known_ = nullptr;
    RequestStatistics* statistics_ = nullptr;
    SteadyTime changed_{};
    KeyLookups::Priority priority_ = KeyLookups::Priority::kUnknown;
    bool is_subject_ = false;
    bool is_trusted_ = false;
    bool is_use_noted_ = false;  ///< by this request
    KeyCache::Minute used_ = 0;  ///< the last use that the node has noted, as far as known
};

}  // namespace tollgate::engine
