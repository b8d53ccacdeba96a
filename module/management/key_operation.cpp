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

}  // namespace

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
        keep_end(key.record, end);
        return true;
    };
    std::string no_rotation;
    co_await change_current(id, std::move(no_rotation), change_key);
    co_await make_equal(std::move(id));
}

/// Gives the finished keys of an id the record of the current one. Other operations may do the same
/// with a record that was changed since: repeats until a pass finds no difference. The first pass
/// stores all, because an interrupted operation may have stored one and not announced it.
Task<void> KeyOperation::make_equal(std::string id) {
    bool is_first = true;
    for (bool differed = true; differed; is_first = false) {
        differed = false;
        const auto all = co_await reader_.all_keys(id);
        for (const auto& key : all.keys) {
            const auto& current = all.keys.front().record;
            const bool differs = key.record != record_of_other(key.record, current);
            const bool is_repeated = is_first && &key != &all.keys.front();
            if (!key.is_unfinished() && (differs || is_repeated)) {
                differed = true;
                const KeyTransactions::Change copy = [&current](StoredKey& other) {
                    other.record = record_of_other(other.record, current);
                    return true;
                };
                co_await transactions_.change(key, copy);
            }
        }
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

/// Changes the current key of an id if it meets the condition.
Task<void> KeyOperation::change_current(std::string id, std::string rotation,
                                        KeyTransactions::Change change) {
    std::string version;
    const KeyTransactions::Change change_if_met = [&](StoredKey& key) {
        require_condition(key, rotation);
        change(key);
        version = version_of(key);
        return true;
    };
    for (bool changed = false; !changed;) {
        const auto keys = co_await reader_.find(id);
        if (keys.keys.empty()) {
            throw without_keys(id);
        }
        // Otherwise, another operation has ended the key meanwhile.
        changed = co_await transactions_.change(keys.keys.front(), change_if_met);
    }
    written_ = version;
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
