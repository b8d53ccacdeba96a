#include "module/management/key_operation.hpp"

#include <algorithm>
#include <set>
#include <utility>

namespace tollgate::management {

Task<std::optional<std::string>> unfinished_id(KeyReader& reader, std::string digest) {
    std::vector<std::string> digests{std::move(digest)};
    const auto found = co_await reader.read(std::move(digests));
    if (found.empty() || !found.front().is_unfinished()) {
        co_return std::nullopt;
    }
    co_return found.front().record.id;
}

Task<KeysOfId> KeyOperation::create(StoredKey key) {
    const std::string digest = key.digest;
    const std::string id = key.record.id;
    for (bool claimed = false, reserved = false; !claimed; reserved = true) {
        const auto others = co_await transactions_.settled_keys(id, digest);
        const bool exists = !std::ranges::all_of(others, &StoredKey::is_unfinished);
        if (exists) {
            if (reserved) {
                co_await transactions_.withdraw(digest, id);
            }
            throw OperationError(Reason::kIdExists, "the id \"" + id + "\" already exists");
        }
        if (!reserved) {
            co_await transactions_.reserve(digest, id);
        }
        bool removed = true;
        for (const auto& other : others) {
            if (removed) {
                removed = co_await transactions_.remove_unfinished(other.digest, id);
            }
        }
        if (removed) {
            std::vector<StoredKey> none;
            claimed = co_await transactions_.claim(id, digest, std::move(none), true);
        }
    }
    // A concurrent revocation has removed the reservation or the claim, or will remove the key
    // after its activation.
    co_await index_.begin();
    // A revoked id that is created again may have been in another group.
    auto index = index_.storing(id, key.record.group, entries_of(key));
    co_await run_all(database_, std::move(index));
    bool works = co_await transactions_.list(id, digest, key.created);
    if (works) {
        works = co_await transactions_.activate(key);
    }
    if (works) {
        works = co_await transactions_.is_claimed(id, digest);
    }
    if (!works) {
        co_await transactions_.withdraw(digest, id);
        co_await transactions_.unlist_if_empty(id);
        co_await index_.remove(id, entries_of(key));
        throw concurrent_change(id);
    }
    KeysOfId created{.id = id, .keys = {}};
    created.keys.push_back(std::move(key));
    co_return created;
}

Task<void> KeyOperation::update(std::string id, std::function<void(KeyRecord&)> change) {
    const KeyTransactions::Change change_key = [&change](StoredKey& key) {
        const auto end = key.record.expires;
        key.operation.clear();  // the key is in use, so it counts as shown
        change(key.record);
        if (key.record.retiring && (!key.record.expires || key.record.expires > end)) {
            key.record.expires = end;
        }
    };
    // A concurrent rotation may copy a key before it is changed, or end it. Repeat until a pass
    // changes nothing and finds no other digests.
    std::set<std::string> done;
    if (condition_) {
        std::string no_rotation;
        auto current = co_await change_current(id, std::move(no_rotation), change_key);
        done.insert(std::move(current));
    }
    std::vector<std::string> listed;
    for (bool changed = true; changed;) {
        const auto digests = co_await reader_.digests_of(id);
        changed = digests != std::exchange(listed, digests);
        for (const auto& digest : digests) {
            if (!done.contains(digest)) {
                const bool is_changed = co_await transactions_.change(digest, id, change_key);
                if (is_changed) {
                    done.insert(digest);
                    changed = true;
                }
            }
        }
    }
    if (done.empty()) {
        co_await reader_.require_id(id);
        throw without_keys(id);
    }
}

/// Throws if the version of a current key does not meet the condition, unless this operation has
/// changed the key, or the interrupted `rotation` that is executed again.
void KeyOperation::require_condition(const StoredKey& key, const std::string& rotation) const {
    if (!condition_ || transactions_.is_own(key)) {
        return;
    }
    const bool is_of_rotation =
        !rotation.empty() && (key.rotation == rotation || key.request == rotation);
    const auto version = version_of(key);
    if (!is_of_rotation && version != written_ && !condition_(version)) {
        throw condition_failed(key.record.id);
    }
}

/// Changes the current key of an id if it meets the condition. Returns its digest.
Task<std::string> KeyOperation::change_current(std::string id, std::string rotation,
                                               KeyTransactions::Change change) {
    std::string version;
    const KeyTransactions::Change change_if_met = [&](StoredKey& key) {
        require_condition(key, rotation);
        change(key);
        version = version_of(key);
    };
    while (true) {
        const auto keys = co_await reader_.find(id);
        if (keys.keys.empty()) {
            throw without_keys(id);
        }
        std::string digest = keys.keys.front().digest;
        const bool changed = co_await transactions_.change(digest, id, change_if_met);
        // Otherwise, another operation has ended the key meanwhile.
        if (changed) {
            written_ = version;
            co_return digest;
        }
    }
}

Task<std::string> KeyOperation::prefix_of(std::string id) {
    const auto known = co_await reader_.all_keys(std::move(id));
    co_return known.keys.empty() ? std::string() : known.keys.front().record.prefix;
}

Task<void> KeyOperation::confirm(std::string digest, std::string id) {
    co_await confirm_if_there(digest, id, false);
}

Task<bool> KeyOperation::confirm_if_there(std::string digest, std::string id, bool may_be_undone) {
    const bool confirmed = co_await transactions_.confirm(digest, id);
    if (!confirmed && !may_be_undone) {
        throw OperationError(Reason::kReplaced,
                             "another operation has replaced the key of \"" + id + "\"");
    }
    co_return confirmed;
}

OperationError condition_failed(const std::string& id) {
    return {Reason::kConditionFailed,
            "the version of \"" + id + "\" does not meet the condition of the request"};
}

OperationError without_keys(const std::string& id) {
    return {Reason::kNoKey, "the id \"" + id + "\" has no key"};
}

}  // namespace tollgate::management
