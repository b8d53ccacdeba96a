#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "module/engine/identity/known_keys.hpp"
#include "module/engine/table_set.hpp"
#include "module/key/key_record.hpp"
#include "module/redis/protocol/lookup.hpp"
#include "module/zone/key_cache.hpp"

namespace tollgate::engine {

struct IdentityParts;

/// The key under which a node keeps the record of a group, in the Redis with this name_hash. The
/// message of `events` that announces a change of the record is redis::kChangeOfGroup and the
/// group: a node notes it for this key. No token of a client has this digest. Throws
/// std::runtime_error if OpenSSL fails.
KeyCache::Key group_key(std::uint32_t redis, std::string_view group);

/// What Redis has of a group, as a node keeps it: its id is the group. A group without a record has
/// one that is not active and has no plan.
KeyRecord group_record(const redis::Lookup& lookup, std::string_view group);

/// Finds the record of the group of one request's key, in the zone. If it is not there, or may have
/// changed, Redis has to be asked.
class GroupFinder {
  public:
    /// The arguments must outlive it.
    GroupFinder(IdentityParts& parts, const TableSet& tables) : parts_(parts), tables_(tables) {}

    /// Whether a table counts groups, and this key has one.
    bool is_needed(const KeyRecord& key) const {
        return tables_.counts_groups() && !key.group.empty();
    }
    /// Looks for the record of the group of this key, which must outlive this object. False if a
    /// look-up must tell. Throws std::bad_alloc.
    bool find(const KeyRecord& key);
    /// Takes the record of the group of a key that the worker knows with its group.
    void accept(const KnownKey& known);
    /// Takes the result of the look-up whose call was sent then. Throws std::bad_alloc.
    void accept(const redis::Lookup& lookup, SteadyTime sent);

    /// nullptr: not known. Otherwise it is current, or was when Redis was last asked, within
    /// `stale_keys`.
    const std::shared_ptr<const KeyRecord>& record() const { return record_; }
    const KeyCache::Key& key() const { return key_; }
    /// The hash that identifies the group's counters.
    const IdHash& id() const { return id_; }
    /// When the record was looked up.
    SteadyTime checked() const { return checked_; }

  private:
    IdentityParts& parts_;
    const TableSet& tables_;
    std::string_view group_;
    KeyCache::Key key_{};
    IdHash id_{};
    std::shared_ptr<const KeyRecord> record_;
    SteadyTime checked_{};
};

}  // namespace tollgate::engine
