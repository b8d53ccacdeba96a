#include <algorithm>
#include <cstddef>
#include <utility>

#include "module/management/key_operation.hpp"
#include "module/redis/protocol/redis_time.hpp"
#include "module/text/rfc3339.hpp"

namespace tollgate::management {

namespace {

using namespace std::chrono_literals;
using Ending = KeyTransactions::Ending;

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

/// Whether a previous key is valid until the end of the overlap. An interrupted rotation has not
/// shown its key: it is removed if the id has another one.
bool must_be_kept(const StoredKey& key, std::size_t keys) {
    return !key.replaced && !(key.is_unfinished() && keys > 1);
}

void begin_to_retire(StoredKey& key, std::chrono::sys_seconds end) {
    key.operation.clear();
    key.record.retiring = true;
    key.record.expires = std::min(key.record.expires.value_or(end), end);
}

}  // namespace

Task<KeysOfId> KeyOperation::rotate(std::string id, std::string digest,
                                    std::chrono::seconds overlap, std::string request,
                                    std::string hint) {
    const auto start = co_await reader_.now();
    Rotation rotation{.id = id,
                      .digest = std::move(digest),
                      .start = start,
                      .overlap = overlap,
                      .name = request.empty() ? transactions_.operation() : request,
                      .request = std::move(request),
                      .hint = std::move(hint)};
    co_await store_successor(std::move(rotation));
    co_return co_await keys_with_uses(std::move(id));
}

Task<KeysOfId> KeyOperation::rotate_to(std::string id, std::string digest,
                                       std::chrono::seconds overlap, std::string request) {
    const auto start = co_await reader_.now();
    const Rotation rotation{.id = id,
                            .digest = digest,
                            .start = start,
                            .overlap = overlap,
                            .name = digest,
                            .request = std::move(request),
                            .hint = {},
                            .is_given = true};
    bool is_done = co_await complete(rotation);
    if (!is_done) {
        std::optional<OperationError> refusal;
        try {
            co_await store_successor(rotation);
        } catch (const OperationError& error) {
            refusal = error;
        }
        if (refusal) {
            // The same rotation may have been executed meanwhile.
            is_done = co_await complete(rotation);
        }
        if (refusal && !is_done) {
            throw OperationError(*refusal);
        }
    }
    co_return co_await keys_with_uses(std::move(id));
}

Task<KeysOfId> KeyOperation::keys_with_uses(std::string id) {
    auto keys = co_await reader_.all_keys(std::move(id));
    co_return co_await reader_.with_last_uses(std::move(keys));
}

/// Whether a rotation has made the digest the current key of the id. If it was interrupted, or a
/// failover has undone a part of it, completes it. Throws if the digest is that of another key.
Task<bool> KeyOperation::complete(Rotation rotation) {
    while (true) {
        // In this order: a key is one of its id before it works.
        const auto obstacle = co_await transactions_.obstacle_to(rotation.digest, rotation.id);
        auto keys = co_await transactions_.settled_keys(rotation.id, {});
        const auto found = std::ranges::find(keys, rotation.digest, &StoredKey::digest);
        if (found == keys.end()) {
            if (obstacle) {
                throw key_in_use(*obstacle);
            }
            co_return false;
        }
        const bool is_latest = found == keys.begin() || found->is_unfinished();
        const bool has_ended = found->replaced || found->record.retiring;
        // An import may not tell when the id was issued.
        const bool is_of_rotation =
            !found->issued.empty() ||
            std::ranges::any_of(keys, [](const StoredKey& key) { return key.record.retiring; });
        if (!is_latest || has_ended || !is_of_rotation) {
            throw key_in_use(*found);
        }
        if (!found->is_unfinished()) {
            if (std::any_of(found + 1, keys.end(), std::mem_fn(&StoredKey::is_current))) {
                co_await end_others(rotation, std::move(keys));
            }
            co_return true;
        }
        StoredKey successor = *found;
        const bool is_taken = co_await take_over(successor);
        if (!is_taken) {
            continue;
        }
        keys.erase(found);
        if (!keys.empty()) {
            const StoredKey current = keys.front();
            const bool is_kept = rotation.overlap != 0s && must_be_kept(current, keys.size());
            co_await end_others(rotation, std::move(keys));
            co_await hand_over(rotation, current, std::move(successor), is_kept);
        }
        co_return true;
    }
}

/// Makes an unfinished key one of this operation, which confirms it. Returns false if it is not
/// unfinished any more.
Task<bool> KeyOperation::take_over(StoredKey successor) {
    const KeyTransactions::Change take = [&](StoredKey& key) {
        const bool is_unfinished = key.is_unfinished();
        key.operation = transactions_.operation();
        return is_unfinished;
    };
    if (transactions_.is_own(successor)) {
        co_return true;
    }
    co_return co_await transactions_.change(std::move(successor), take);
}

/// Gives an id its new key, and ends the others.
Task<void> KeyOperation::store_successor(Rotation rotation) {
    if (condition_) {
        co_await take_current(rotation);
    }
    const auto before = co_await prepare(rotation);
    auto successor = co_await activate_successor(rotation, before.front());
    // Without overlap, all other keys have ended. The first one was kept until its successor works.
    const bool is_kept = rotation.overlap != 0s;
    if (is_kept) {
        co_await end_others(rotation, before);
    }
    co_await hand_over(rotation, before.front(), std::move(successor),
                       is_kept && must_be_kept(before.front(), before.size()));
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
    const KeyTransactions::Change mark = [&](StoredKey& key) {
        key.rotation = rotation.name;
        return true;
    };
    co_await change_current(rotation.id, rotation.name, mark);
}

/// If the overlap is 0, ends all keys of the id. Then reserves and claims the new digest. Returns
/// the keys of the id, the predecessor of the new key first.
Task<std::vector<StoredKey>> KeyOperation::prepare(Rotation rotation) {
    const auto& id = rotation.id;
    const auto& digest = rotation.digest;
    StoredKey replaced;
    const KeyTransactions::Change replace = [&](StoredKey& key) {
        require_condition(key, rotation.name);
        key.operation.clear();
        key.rotation = rotation.name;
        key.replaced = true;
        key.record.retiring = false;
        replaced = key;
        return true;
    };
    bool reserved = false;
    while (true) {
        auto keys = co_await transactions_.settled_keys(id, digest);
        std::optional<OperationError> refusal;
        bool is_current = true;
        try {
            if (keys.empty()) {
                co_await reader_.require_id(id);
                throw without_keys(id);
            }
            require_condition(keys.front(), rotation.name);
            require_rotatable(id, keys, rotation.start, rotation.overlap);
            if (rotation.is_given && !reserved) {
                // Before a key ends: another operation may have stored the digest meanwhile.
                co_await reserve(rotation);
                reserved = true;
            }
            if (rotation.overlap == 0s) {
                is_current = co_await transactions_.change(keys.front(), replace);
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
        if (!is_current) {
            continue;
        }
        if (rotation.overlap == 0s) {
            keys.front() = replaced;
            co_await end_others(rotation, keys);
        }
        if (!reserved) {
            co_await reserve(rotation);
            reserved = true;
        }
        const bool claimed = co_await transactions_.claim(id, digest, keys, false);
        if (!claimed) {
            continue;
        }
        if (keys.front().record.retiring) {
            // hand_over() copies no change of it. Whoever changes it from now on finds the claim,
            // and waits: see make_equal().
            std::vector<std::string> digests{keys.front().digest};
            auto found = co_await reader_.read(std::move(digests));
            if (found.empty() || found.front().record.id != id) {
                co_await transactions_.withdraw(digest, id);
                throw concurrent_change(id);
            }
            keys.front() = std::move(found.front());
        }
        co_return keys;
    }
}

Task<void> KeyOperation::reserve(Rotation rotation) {
    StoredKey successor{.digest = std::move(rotation.digest)};
    successor.record.id = std::move(rotation.id);
    co_await transactions_.reserve(std::move(successor), KeyTransactions::Revoked::kRefused);
}

/// Activates the new key with the record of its predecessor, and returns it.
Task<StoredKey> KeyOperation::activate_successor(Rotation rotation, StoredKey source) {
    const auto& id = rotation.id;
    const auto& digest = rotation.digest;
    StoredKey successor{.digest = digest,
                        .record = source.record,
                        .created = rotation.start,
                        .request = rotation.request,
                        .hint = rotation.hint,
                        .issued = redis::unix_time(source.issue_time())};
    successor.record.retiring = false;
    bool works = co_await transactions_.activate(successor);
    if (works) {
        works = co_await transactions_.is_claimed(id, digest);
    }
    if (!works) {
        co_await transactions_.withdraw(digest, id);
        throw concurrent_change(id);
    }
    co_return successor;
}

/// Ends the keys except the first one: removes them, or lets them expire at the end of the overlap.
Task<void> KeyOperation::end_others(Rotation rotation, std::vector<StoredKey> before) {
    const KeyTransactions::Change retire = [&](StoredKey& old) {
        begin_to_retire(old, rotation.start + rotation.overlap);
        return true;
    };
    for (auto key = before.begin() + 1; key != before.end(); ++key) {
        if (rotation.overlap == 0s || !must_be_kept(*key, before.size())) {
            co_await transactions_.remove(key->digest, rotation.id, Ending::kRotated);
        } else if (!key->record.retiring) {
            co_await transactions_.change(*key, retire);
        }
    }
}

/// Ends the previous current key: removes it, or lets it expire at the end of the overlap. If
/// another operation has changed it since its successor got its record, copies the change before.
Task<void> KeyOperation::hand_over(Rotation rotation, StoredKey current, StoredKey successor,
                                   bool is_kept) {
    if (current.record.retiring) {
        co_return;
    }
    KeyRecord copied = successor.record;
    const KeyTransactions::Accepts is_copied = [&](const StoredKey& key) {
        return key.record == copied;
    };
    const KeyTransactions::Change retire = [&](StoredKey& key) {
        const bool is_same = is_copied(key);
        begin_to_retire(key, rotation.start + rotation.overlap);
        return is_same;
    };
    const KeyTransactions::Change copy = [&](StoredKey& key) {
        key.record = copied;
        return true;
    };
    while (true) {
        bool is_ended = false;
        if (is_kept) {
            is_ended = co_await transactions_.change(current, retire);
        } else {
            is_ended = co_await transactions_.remove_if(current.digest, rotation.id, is_copied,
                                                        Ending::kRotated);
        }
        if (is_ended) {
            co_return;
        }
        std::vector<std::string> digests{current.digest};
        const auto found = co_await reader_.read(std::move(digests));
        if (found.empty() || found.front().record.id != rotation.id ||
            found.front().record.retiring) {
            co_return;  // another operation has ended it
        }
        copied = found.front().record;
        const bool is_there = co_await transactions_.change(successor, copy);
        if (!is_there) {
            throw concurrent_change(rotation.id);
        }
    }
}

}  // namespace tollgate::management
