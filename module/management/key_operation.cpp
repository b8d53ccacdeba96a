#include "module/management/key_operation.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "module/text/rfc3339.hpp"

namespace tollgate::management {

namespace {

using namespace std::chrono_literals;

OperationError without_keys(const std::string& id) {
    return {Reason::kNoKey, "the id \"" + id + "\" has no key"};
}

/// Throws if no key can succeed the current one. `keys` are those of the id.
void require_rotatable(const std::string& id, const std::vector<StoredKey>& keys,
                       std::chrono::sys_seconds now, std::chrono::seconds overlap) {
    const StoredKey& current = keys.front();
    const auto retiring = std::ranges::find_if(keys, &StoredKey::retiring);
    // A third key would also be valid, and the client does not expect it.
    if (overlap != 0s && current.is_current() && retiring != keys.end()) {
        const auto end = retiring->record.expires;
        throw OperationError(Reason::kTwoKeys, "\"" + id + "\" has two keys until " +
                                                   (end ? format_time(*end) : "the old one ends"));
    }
    if (!current.retiring && current.record.expires && *current.record.expires <= now) {
        throw OperationError(Reason::kExpired, "the key of \"" + id + "\" has expired");
    }
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
        if (key.retiring && (!key.record.expires || key.record.expires > end)) {
            key.record.expires = end;
        }
    };
    // A concurrent rotation may copy a key before it is changed. Repeat until a pass changes
    // nothing.
    std::set<std::string> done;
    for (bool changed = true; changed;) {
        changed = false;
        const auto digests = co_await reader_.digests_of(id);
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

Task<KeysOfId> KeyOperation::rotate(std::string id, std::string digest,
                                    std::chrono::seconds overlap, std::string request) {
    const auto start = co_await reader_.now();
    const Rotation rotation{.id = id,
                            .digest = std::move(digest),
                            .start = start,
                            .overlap = overlap,
                            .request = std::move(request)};
    const auto before = co_await prepare(rotation);
    co_await activate_successor(rotation, before.front());
    if (overlap == 0s) {
        // All other keys have ended. This one was kept until its successor works.
        co_await transactions_.remove(before.front().digest, id);
    } else {
        co_await end_previous(rotation, before);
    }
    auto rotated = co_await reader_.all_keys(id);
    co_return co_await reader_.with_last_uses(std::move(rotated));
}

/// If the overlap is 0, ends all keys of the id. Then reserves and claims the new digest. Returns
/// the keys of the id, the predecessor of the new key first.
Task<std::vector<StoredKey>> KeyOperation::prepare(Rotation rotation) {
    const auto& [id, digest, start, overlap, request] = rotation;
    for (bool reserved = false;; reserved = true) {
        auto keys = co_await transactions_.settled_keys(id, digest);
        std::optional<OperationError> refusal;
        try {
            if (keys.empty()) {
                co_await reader_.require_id(id);
                throw without_keys(id);
            }
            require_rotatable(id, keys, start, overlap);
        } catch (const OperationError& error) {
            refusal = error;
        }
        if (refusal) {
            if (reserved) {
                co_await transactions_.withdraw(digest, id);
            }
            throw OperationError(*refusal);
        }
        if (overlap == 0s) {
            const KeyTransactions::Change replace = [](StoredKey& key) {
                key.operation.clear();
                key.replaced = true;
                key.retiring = false;
            };
            co_await transactions_.change(keys.front().digest, id, replace);
            for (auto key = keys.begin() + 1; key != keys.end(); ++key) {
                co_await transactions_.remove(key->digest, id);
            }
        }
        if (!reserved) {
            co_await transactions_.reserve(digest, id);
        }
        const bool claimed = co_await transactions_.claim(id, digest, keys, false);
        if (claimed) {
            co_return keys;
        }
    }
}

/// Activates the new key with the record of its predecessor.
Task<void> KeyOperation::activate_successor(Rotation rotation, StoredKey source) {
    const auto& [id, digest, start, overlap, request] = rotation;
    StoredKey successor{
        .digest = digest, .record = source.record, .created = start, .request = request};
    bool works = co_await transactions_.activate(std::move(successor));
    if (works) {
        works = co_await transactions_.is_claimed(id, digest);
    }
    if (!works) {
        co_await transactions_.withdraw(digest, id);
        throw concurrent_change(id);
    }
    // Another operation may have changed the predecessor after it was read and before the copy
    // existed. Repeat until the copy has the record that the predecessor has.
    KeyRecord& copied = source.record;
    for (bool changed = true; changed;) {
        changed = false;
        std::vector<std::string> digests{source.digest};
        const auto found = co_await reader_.read(id, std::move(digests));
        for (const auto& key : found) {
            if (!key.retiring && key.record != copied) {
                copied = key.record;
                const KeyTransactions::Change copy_again = [&](StoredKey& copy) {
                    copy.record = copied;
                };
                changed = co_await transactions_.change(digest, id, copy_again);
            }
        }
    }
}

/// Lets the previous keys expire at the end of the overlap.
Task<void> KeyOperation::end_previous(Rotation rotation, std::vector<StoredKey> before) {
    const auto& id = rotation.id;
    const auto end = rotation.start + rotation.overlap;
    for (const auto& key : before) {
        // An interrupted rotation has not shown its key. Remove that key if the id has another
        // one.
        if (key.replaced || (key.is_unfinished() && before.size() > 1)) {
            co_await transactions_.remove(key.digest, id);
        } else if (!key.retiring) {
            const KeyTransactions::Change retire = [end](StoredKey& old) {
                old.operation.clear();
                old.retiring = true;
                old.record.expires = std::min(old.record.expires.value_or(end), end);
            };
            co_await transactions_.change(key.digest, id, retire);
        }
    }
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

Task<void> KeyOperation::revoke(std::string id) {
    using Audited = KeyTransactions::Audited;
    // A failover may undo the end of a key and not that of its id, on another master.
    if (!revoked_) {
        co_await reader_.require_id(id);
        revoked_.emplace();
    }
    auto digests = co_await reader_.digests_of(id);
    revoked_->insert(digests.begin(), digests.end());
    for (const auto& digest : *revoked_) {
        co_await transactions_.remove(digest, id);
    }
    const bool may_span = database_.may_span(keys_.id(id), keys_.ban(id));
    const Transaction remove_ban{.commands = {{"DEL", keys_.ban(id)}}, .names = {id}};
    co_await transactions_.commit(remove_ban, Audited::kYes);
    // Gateways do not write it again once the id has no set.
    const redis::Command remove_uses{"DEL", keys_.used(id)};
    redis::Command unlist{"ZREM", keys_.ids(), id};
    co_await run(database_, std::move(unlist));
    for (bool removed = false; !removed;) {
        if (!may_span) {
            co_await transactions_.commit(remove_ban, Audited::kYes);
            co_await run(database_, remove_uses);
        }
        digests = co_await reader_.digests_of(id);
        Transaction remove_id;
        remove_id.conditions.push_back(
            {.command = {"SMEMBERS", keys_.id(id)}, .elements = digests});
        remove_id.commands = {{"DEL", keys_.id(id)}};
        if (may_span) {
            remove_id.commands.push_back({"DEL", keys_.ban(id)});
            remove_id.commands.push_back(remove_uses);
        }
        remove_id.names = {id};
        removed = co_await transactions_.commit(std::move(remove_id), Audited::kYes);
    }
    revoked_->insert(digests.begin(), digests.end());
    for (const auto& digest : digests) {
        co_await transactions_.remove(digest, id);
    }
    if (!may_span) {
        co_await run(database_, remove_uses);
    }
}

}  // namespace tollgate::management
