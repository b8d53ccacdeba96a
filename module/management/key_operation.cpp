#include "module/management/key_operation.hpp"

#include <algorithm>
#include <utility>

namespace tollgate::management {

namespace {

/// A retiring key does not get a later end.
void keep_end(KeyRecord& record, std::optional<std::chrono::sys_seconds> end) {
    if (record.retiring && (!record.expires || record.expires > end)) {
        record.expires = end;
    }
}

/// What the record of a key becomes if that of the current key of its id is `current`.
KeyRecord record_of_other(const KeyRecord& other, const KeyRecord& current) {
    KeyRecord record = current;
    record.retiring = other.retiring;
    keep_end(record, other.expires);
    return record;
}

/// Whether a rotation may give an id, which has no key or a retiring one, a key with a record that
/// it has read before the last change.
bool awaits_successor(const std::vector<StoredKey>& keys) {
    const bool is_retiring =
        !keys.empty() && (keys.front().pending || keys.front().record.retiring);
    return is_retiring && std::ranges::any_of(keys, &StoredKey::pending);
}

}  // namespace

Task<std::optional<std::string>> unfinished_id(KeyReader& reader, std::string digest) {
    std::vector<std::string> digests{std::move(digest)};
    const auto found = co_await reader.read(std::move(digests));
    if (found.empty() || !found.front().is_unfinished()) {
        co_return std::nullopt;
    }
    co_return found.front().record.id;
}

Task<KeysOfId> KeyOperation::create(StoredKey key, KeyTransactions::Revoked revoked) {
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
            co_await transactions_.reserve(key, revoked);
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
    constexpr int kMostChanges = 10;
    const KeyTransactions::Change change_key = [&change](StoredKey& key) {
        const auto end = key.record.expires;
        key.operation.clear();  // the key is in use, so it counts as shown
        change(key.record);
        keep_end(key.record, end);
        return true;
    };
    for (int changes = 0; changes < kMostChanges; ++changes) {
        std::string no_rotation;
        const auto changed = co_await change_current(id, std::move(no_rotation), change_key);
        const auto current = co_await make_equal(id);
        if (!current || current->digest == changed) {
            co_return;
        }
        // A rotation has given the id another key meanwhile. It has copied the change, unless the
        // changed key was retiring already.
        StoredKey wanted = *current;
        change_key(wanted);
        if (wanted.record == current->record) {
            co_return;
        }
        if (condition_) {
            break;
        }
    }
    throw concurrent_change(id);
}

/// Gives the finished keys of an id the record of the current one, which it returns. Other
/// operations may do the same with a record that was changed since: repeats until a pass finds no
/// difference. The first pass stores all, because an interrupted operation may have stored one and
/// not announced it.
Task<std::optional<StoredKey>> KeyOperation::make_equal(std::string id) {
    constexpr int kMostPasses = 100;
    bool is_first = true;
    for (int passes = 0; passes < kMostPasses; ++passes) {
        bool differed = false;
        const auto read = co_await reader_.snapshot(id);
        const auto& keys = read.keys();
        if (awaits_successor(keys)) {
            co_await transactions_.settled_keys(id, {});
            continue;
        }
        for (const auto& key : keys) {
            const StoredKey& current = keys.front();
            const bool differs = key.record != record_of_other(key.record, current.record);
            const bool is_repeated = is_first && &key != &current;
            if (!key.is_unfinished() && (differs || is_repeated)) {
                differed = true;
                const KeyTransactions::Change copy = [&current](StoredKey& other) {
                    other.record = record_of_other(other.record, current.record);
                    return true;
                };
                co_await transactions_.copy(current, key, copy);
            }
        }
        is_first = false;
        if (!differed) {
            const bool has_key = !keys.empty() && !keys.front().pending;
            co_return has_key ? std::optional(keys.front()) : std::nullopt;
        }
    }
    throw concurrent_change(id);
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
        return true;
    };
    while (true) {
        const auto keys = co_await reader_.find(id);
        if (keys.keys.empty()) {
            throw without_keys(id);
        }
        const StoredKey& current = keys.keys.front();
        const bool changed = co_await transactions_.change(current, change_if_met);
        // Otherwise, another operation has ended the key meanwhile.
        if (changed) {
            written_ = version;
            co_return current.digest;
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
