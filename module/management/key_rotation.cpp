#include <algorithm>
#include <utility>

#include "module/management/key_operation.hpp"
#include "module/redis/protocol/redis_time.hpp"
#include "module/text/rfc3339.hpp"

namespace tollgate::management {

namespace {

using namespace std::chrono_literals;

/// Throws if no key can succeed the current one. `keys` are those of the id.
void require_rotatable(const std::string& id, const std::vector<StoredKey>& keys,
                       std::chrono::sys_seconds now, std::chrono::seconds overlap) {
    const StoredKey& current = keys.front();
    const auto retiring =
        std::ranges::find_if(keys, [](const StoredKey& key) { return key.record.retiring; });
    // A third key would also be valid, and the client does not expect it.
    if (overlap != 0s && current.is_current() && retiring != keys.end()) {
        const auto end = retiring->record.expires;
        throw OperationError(Reason::kTwoKeys, "\"" + id + "\" has two keys until " +
                                                   (end ? format_time(*end) : "the old one ends"));
    }
    if (!current.record.retiring && current.record.expires && *current.record.expires <= now) {
        throw OperationError(Reason::kExpired, "the key of \"" + id + "\" has expired");
    }
}

}  // namespace

Task<KeysOfId> KeyOperation::rotate(std::string id, std::string digest,
                                    std::chrono::seconds overlap, std::string request,
                                    std::string hint) {
    const auto start = co_await reader_.now();
    const Rotation rotation{.id = id,
                            .digest = std::move(digest),
                            .start = start,
                            .overlap = overlap,
                            .name = request.empty() ? transactions_.operation() : request,
                            .request = std::move(request),
                            .hint = std::move(hint)};
    if (condition_) {
        co_await take_current(rotation);
    }
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

/// Marks the current key if it meets the condition, which no other operation meets then. This is
/// before the rotation waits for other operations and removes what they left.
Task<void> KeyOperation::take_current(Rotation rotation) {
    const auto current = co_await reader_.find(rotation.id);
    if (current.keys.empty()) {
        throw without_keys(rotation.id);
    }
    require_condition(current.keys.front(), rotation.name);
    require_rotatable(rotation.id, current.keys, rotation.start, rotation.overlap);
    const KeyTransactions::Change mark = [&](StoredKey& key) { key.rotation = rotation.name; };
    co_await change_current(rotation.id, rotation.name, mark);
}

/// If the overlap is 0, ends all keys of the id. Then reserves and claims the new digest. Returns
/// the keys of the id, the predecessor of the new key first.
Task<std::vector<StoredKey>> KeyOperation::prepare(Rotation rotation) {
    const auto& id = rotation.id;
    const auto& digest = rotation.digest;
    const KeyTransactions::Change replace = [&](StoredKey& key) {
        require_condition(key, rotation.name);
        key.operation.clear();
        key.rotation = rotation.name;
        key.replaced = true;
        key.record.retiring = false;
    };
    for (bool reserved = false;; reserved = true) {
        auto keys = co_await transactions_.settled_keys(id, digest);
        std::optional<OperationError> refusal;
        try {
            if (keys.empty()) {
                co_await reader_.require_id(id);
                throw without_keys(id);
            }
            require_condition(keys.front(), rotation.name);
            require_rotatable(id, keys, rotation.start, rotation.overlap);
            if (rotation.overlap == 0s) {
                co_await transactions_.change(keys.front().digest, id, replace);
            }
        } catch (const OperationError& error) {
            refusal = error;
        }
        if (refusal) {
            if (reserved) {
                co_await transactions_.withdraw(digest, id);
            }
            throw OperationError(*refusal);
        }
        if (rotation.overlap == 0s) {
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
    const auto& id = rotation.id;
    const auto& digest = rotation.digest;
    StoredKey successor{.digest = digest,
                        .record = source.record,
                        .created = rotation.start,
                        .request = rotation.request,
                        .hint = rotation.hint,
                        .issued = redis::unix_time(source.issue_time())};
    successor.record.retiring = false;
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
            if (!key.record.retiring && key.record != copied) {
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
        } else if (!key.record.retiring) {
            const KeyTransactions::Change retire = [end](StoredKey& old) {
                old.operation.clear();
                old.record.retiring = true;
                old.record.expires = std::min(old.record.expires.value_or(end), end);
            };
            co_await transactions_.change(key.digest, id, retire);
        }
    }
}

}  // namespace tollgate::management
