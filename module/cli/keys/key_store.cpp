#include "module/cli/keys/key_store.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "module/cli/failure.hpp"
#include "module/cli/terminal/time_text.hpp"

namespace tollgate::cli {

namespace {

using namespace std::chrono_literals;

Failure id_exists(const std::string& id) {
    return {ExitStatus::kConflict, "the id \"" + id + "\" already exists: use another --id"};
}

Failure without_keys(const std::string& id) {
    return {
        ExitStatus::kUnknownId,
        "the id \"" + id + "\" has no key: issue or import one with this --id, or revoke the id"};
}

/// Throws if the id already has two keys. A third key would also be valid, and the client does not
/// expect it.
void require_no_overlap(const std::string& id, const std::vector<StoredKey>& keys) {
    const auto retiring = std::ranges::find_if(keys, &StoredKey::retiring);
    if (keys.front().is_current() && retiring != keys.end()) {
        const auto end = retiring->record.expires;
        throw Failure(ExitStatus::kConflict,
                      "\"" + id + "\" has two keys until " +
                          (end ? format_time(*end) : "the old one ends") +
                          ": rotate it after that time, or end both keys now with --overlap 0s");
    }
}

}  // namespace

std::chrono::sys_seconds KeyStore::now() {
    const auto time = session_.run({"TIME"});
    return std::chrono::sys_seconds(std::chrono::seconds(number_or_zero(time.elements.at(0).text)));
}

std::optional<std::string> KeyStore::unfinished_id(const KeyDigest& digest) {
    const auto found = reader_.read({hex(digest)});
    if (found.empty() || !found.front().is_unfinished()) {
        return std::nullopt;
    }
    return found.front().record.id;
}

KeysOfId KeyStore::create(const KeyDigest& digest, const KeyRecord& record,
                          std::chrono::sys_seconds created) {
    const std::string name = hex(digest);
    const auto is_finished = [](const StoredKey& key) { return !key.is_unfinished(); };
    const auto remove = [&](const StoredKey& key) {
        return transactions_.remove_unfinished(key.digest, record.id);
    };
    for (bool claimed = false, reserved = false; !claimed; reserved = true) {
        const auto keys = transactions_.settled_keys(record.id, name);
        if (std::ranges::any_of(keys, is_finished)) {
            if (reserved) {
                transactions_.withdraw(name, record.id);
            }
            throw id_exists(record.id);
        }
        if (!reserved) {
            transactions_.reserve(name, record.id);
        }
        claimed =
            std::ranges::all_of(keys, remove) && transactions_.claim(record.id, name, {}, true);
    }
    // A concurrent `key revoke` has removed the reservation or the claim, or will remove the key
    // after its activation.
    if (!transactions_.list(record.id, name, created) ||
        !transactions_.activate(name, record, created) ||
        !transactions_.is_claimed(record.id, name)) {
        transactions_.withdraw(name, record.id);
        transactions_.unlist_if_empty(record.id);
        throw concurrent_change(record.id);
    }
    return {.id = record.id, .keys = {{.digest = name, .record = record, .created = created}}};
}

void KeyStore::update(const std::string& id, const std::function<void(KeyRecord&)>& change_record) {
    const auto change_key = [&](StoredKey& key) {
        const auto end = key.record.expires;
        key.command.clear();  // the key is in use, so it counts as printed
        change_record(key.record);
        if (key.retiring && (!key.record.expires || key.record.expires > end)) {
            key.record.expires = end;
        }
    };
    // A concurrent rotation may copy a key before it is changed. Repeat until a pass changes
    // nothing.
    std::set<std::string> done;
    for (bool changed = true; changed;) {
        changed = false;
        for (const auto& digest : reader_.digests_of(id)) {
            if (!done.contains(digest) && transactions_.change(digest, id, change_key)) {
                done.insert(digest);
                changed = true;
            }
        }
    }
    if (done.empty()) {
        reader_.require_id(id);
        throw without_keys(id);
    }
}

KeysOfId KeyStore::rotate(const std::string& id, const KeyDigest& digest,
                          std::chrono::seconds overlap) {
    const std::string name = hex(digest);
    const auto start = now();
    const auto before = prepare_rotation(id, name, start, overlap);
    activate_successor(before, name, start);
    if (overlap == 0s) {
        // All other keys have ended. This one was kept until its successor works.
        transactions_.remove(before.front().digest, id);
    } else {
        end_previous(id, before, start + overlap);
    }
    return {.id = id, .keys = reader_.read(id, reader_.digests_of(id))};
}

/// If `overlap` is 0, ends all keys of the id. Then reserves and claims the new digest. Returns the
/// keys of the id, the predecessor of the new key first.
std::vector<StoredKey> KeyStore::prepare_rotation(const std::string& id, const std::string& digest,
                                                  std::chrono::sys_seconds now,
                                                  std::chrono::seconds overlap) {
    for (bool reserved = false;; reserved = true) {
        auto keys = transactions_.settled_keys(id, digest);
        try {
            if (keys.empty()) {
                reader_.require_id(id);
                throw without_keys(id);
            }
            if (overlap != 0s) {
                require_no_overlap(id, keys);
            }
            const StoredKey& current = keys.front();
            if (!current.retiring && current.record.expires && *current.record.expires <= now) {
                throw Failure(ExitStatus::kConflict,
                              "the key of \"" + id +
                                  "\" has expired: set --expires with tollgate key set first");
            }
        } catch (const Failure&) {
            if (reserved) {
                transactions_.withdraw(digest, id);
            }
            throw;
        }
        if (overlap == 0s) {
            transactions_.change(keys.front().digest, id, [](StoredKey& key) {
                key.command.clear();
                key.replaced = true;
                key.retiring = false;
            });
            for (auto key = keys.begin() + 1; key != keys.end(); ++key) {
                transactions_.remove(key->digest, id);
            }
        }
        if (!reserved) {
            transactions_.reserve(digest, id);
        }
        if (transactions_.claim(id, digest, keys, false)) {
            return keys;
        }
    }
}

/// Activates the new key with the record of its predecessor.
void KeyStore::activate_successor(const std::vector<StoredKey>& before, const std::string& digest,
                                  std::chrono::sys_seconds now) {
    const StoredKey& source = before.front();
    const std::string& id = source.record.id;
    if (!transactions_.activate(digest, source.record, now) ||
        !transactions_.is_claimed(id, digest)) {
        transactions_.withdraw(digest, id);
        throw concurrent_change(id);
    }
    // Another command may have changed the predecessor after it was read and before the copy
    // existed. Apply that change to the copy.
    for (const auto& key : reader_.read(id, {source.digest})) {
        if (!key.retiring && key.record != source.record) {
            transactions_.change(digest, id, [&](StoredKey& copy) { copy.record = key.record; });
        }
    }
}

/// Lets the previous keys expire at `end`.
void KeyStore::end_previous(const std::string& id, const std::vector<StoredKey>& before,
                            std::chrono::sys_seconds end) {
    for (const auto& key : before) {
        // An interrupted rotation has not printed its key. Remove that key if the id has another
        // one.
        if (key.replaced || (key.is_unfinished() && before.size() > 1)) {
            transactions_.remove(key.digest, id);
        } else if (!key.retiring) {
            transactions_.change(key.digest, id, [&](StoredKey& old) {
                old.command.clear();
                old.retiring = true;
                old.record.expires = std::min(old.record.expires.value_or(end), end);
            });
        }
    }
}

void KeyStore::confirm(const KeyDigest& digest, const std::string& id) {
    if (!transactions_.confirm(hex(digest), id)) {
        throw Failure(ExitStatus::kConflict,
                      "another command has replaced the key of \"" + id +
                          "\": the printed key is not valid, run the command again");
    }
}

void KeyStore::revoke(const std::string& id) {
    reader_.require_id(id);
    auto digests = reader_.digests_of(id);
    const auto remove_all = [&] {
        for (const auto& digest : digests) {
            transactions_.remove(digest, id);
        }
    };
    remove_all();
    const RedisCommand remove_ban{"DEL", keys_.ban(id)};
    const bool may_span = session_.may_span(keys_.id(id), keys_.ban(id));
    transactions_.commit({remove_ban}, "", id);
    session_.run({"ZREM", keys_.ids(), id});
    std::vector<RedisCommand> remove_id{{"DEL", keys_.id(id)}};
    if (may_span) {
        remove_id.push_back(remove_ban);
    }
    do {
        if (!may_span) {
            transactions_.commit({remove_ban}, "", id);
        }
        session_.watch(keys_.id(id));
        digests = reader_.digests_of(id);
    } while (!transactions_.commit(remove_id, "", id));
    remove_all();
}

}  // namespace tollgate::cli
