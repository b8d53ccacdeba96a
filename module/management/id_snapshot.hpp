#pragma once

#include <algorithm>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "module/management/stored_key.hpp"
#include "module/redis/protocol/schema.hpp"

namespace tollgate::management {

/// An id as it was at one moment: the set of its digests, and what Redis has of each of them. Only
/// KeyReader makes one, from a read that the next one has confirmed: the set and the records are
/// read one after the other, and a whole rotation fits between them. Who changes an id decides by a
/// snapshot.
class IdSnapshot {
  public:
    const std::string& id() const { return keys_.id; }

    /// The digests in the set of the id, in the order of Redis's reply, which a condition repeats.
    /// Some may have no key: see ended().
    const std::vector<std::string>& digests() const { return digests_; }

    /// The keys of the id, also pending ones: current keys first, then replaced, unfinished,
    /// retiring and pending ones. None if the id does not exist.
    const std::vector<StoredKey>& keys() const { return keys_.keys; }

    /// The digests in the set that have no key of the id any more: the key has expired, was
    /// removed, or belongs to another id. What is no record at all has not ended.
    const std::vector<std::string>& ended() const { return ended_; }

    /// The conditions of a transaction that is executed only while the id is as it was read: its
    /// set, and what Redis has of each digest.
    std::vector<Condition> unchanged(const redis::Keys& keys) const {
        std::vector<Condition> conditions{
            {.command = {"SMEMBERS", keys.id(id())}, .elements = digests_}};
        for (const auto* const all : {&keys_.keys, &others_}) {
            for (const auto& key : *all) {
                conditions.push_back(management::unchanged(keys.key(key.digest), key));
            }
        }
        return conditions;
    }

    /// The keys of the id, without pending ones.
    KeysOfId without_pending() && {
        std::erase_if(keys_.keys, std::mem_fn(&StoredKey::pending));
        return std::move(keys_);
    }
    /// All keys, also pending ones.
    KeysOfId with_pending() && { return std::move(keys_); }

  private:
    friend class KeyReader;

    explicit IdSnapshot(std::string id) { keys_.id = std::move(id); }

    KeysOfId keys_{};
    std::vector<std::string> digests_{};
    std::vector<std::string> ended_{};
    std::vector<StoredKey> others_{};  ///< of the digests without a key of the id
};

}  // namespace tollgate::management
