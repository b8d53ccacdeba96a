#include "module/cli/key_store.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "module/cli/failure.hpp"

namespace tollgate::cli {

namespace {

std::string seconds_of(std::chrono::sys_seconds time) {
    return std::to_string(time.time_since_epoch().count());
}

std::string milliseconds_of(std::chrono::sys_seconds time) {
    return std::to_string(std::chrono::milliseconds(time.time_since_epoch()).count());
}

// How long a key may be reserved, in milliseconds: far longer than the two answers that are waited
// for.
const std::string kReservation = "60000";

Failure changed_meanwhile(const std::string& id) {
    return {ExitStatus::kConflict,
            "another command has changed \"" + id + "\" meanwhile: try again"};
}

Failure without_keys(const std::string& id) {
    return {ExitStatus::kUnknownId,
            "\"" + id + "\" has no key left: revoke it, then issue or import one"};
}

}  // namespace

std::chrono::sys_seconds KeyStore::now() {
    const auto time = session_.run({"TIME"});
    return std::chrono::sys_seconds(std::chrono::seconds(stored_number(time.elements.at(0).text)));
}

bool KeyStore::claim(const std::string& id, std::chrono::sys_seconds created) {
    return session_.run({"ZADD", keys_.ids(), "NX", seconds_of(created), id}).integer == 1;
}

void KeyStore::create(const KeyDigest& digest, const KeyRecord& record,
                      std::chrono::sys_seconds created) {
    const std::string name = hex(digest);
    try {
        reserve(name, record.id);
    } catch (const Failure&) {
        session_.run({"ZREM", keys_.ids(), record.id});
        throw;
    }
    session_.run({"SADD", keys_.id(record.id), name});
    activate(name, record, created);
    if (session_.run({"ZSCORE", keys_.ids(), record.id}).is_nil()) {
        remove(name, record.id);
        throw changed_meanwhile(record.id);
    }
}

void KeyStore::update(const std::string& id, const std::function<void(KeyRecord&)>& change_record) {
    const auto change_key = [&](StoredKey& key) {
        const auto end = key.record.expires;
        change_record(key.record);
        if (key.retiring && (!key.record.expires || key.record.expires > end)) {
            key.record.expires = end;
        }
    };
    // A rotation may meanwhile copy a key that isn't changed yet: go on until a whole turn finds
    // nothing to do.
    std::set<std::string> done;
    for (bool changed = true; changed;) {
        changed = false;
        for (const auto& digest : lookup_.digests_of(id)) {
            if (!done.contains(digest) && change(digest, change_key)) {
                done.insert(digest);
                changed = true;
            }
        }
    }
    if (done.empty()) {
        lookup_.require_id(id);
        throw without_keys(id);
    }
}

void KeyStore::rotate(const std::string& id, const KeyDigest& digest,
                      std::chrono::seconds overlap) {
    const std::string name = hex(digest);
    reserve(name, id);
    const auto before = add_successor(id, name);
    const auto start = now();
    activate(name, before.front().record, start);
    // Another command may have changed the key after it was read and before its copy was there to
    // be changed too.
    for (const auto& key : lookup_.read({before.front().digest})) {
        if (!key.retiring && key.record != before.front().record) {
            change(name, [&](StoredKey& copy) { copy.record = key.record; });
        }
    }
    const auto end = start + overlap;
    for (const auto& key : before) {
        change(key.digest, [&](StoredKey& old) {
            old.retiring = true;
            old.record.expires = std::min(old.record.expires.value_or(end), end);
        });
    }
}

void KeyStore::revoke(const std::string& id) {
    lookup_.require_id(id);
    auto digests = lookup_.digests_of(id);
    const auto remove_all = [&] {
        for (const auto& digest : digests) {
            remove(digest, id);
        }
    };
    remove_all();
    session_.run({"ZREM", keys_.ids(), id});
    do {
        session_.run({"WATCH", keys_.id(id)});
        digests = lookup_.digests_of(id);
    } while (!commit({RedisCommand{"DEL", keys_.id(id)}}, "", id));
    remove_all();
}

/// Takes a digest for a new key of this id, for as long as a command may take to store it.
void KeyStore::reserve(const std::string& digest, const std::string& id) {
    const auto hash = keys_.key(digest);
    session_.run({"WATCH", hash});
    if (session_.run({"EXISTS", hash}).integer != 0 ||
        !session_.run_atomically({{"HSET", hash, "id", id, "state", std::string(kPendingState)},
                                  {"PEXPIRE", hash, kReservation}})) {
        throw Failure(ExitStatus::kConflict, "this key exists already");
    }
}

/// Lets a key work that is reserved and listed. Whoever revokes it meanwhile has either removed the
/// reservation, or has taken it off the list, or removes the key again.
void KeyStore::activate(const std::string& digest, const KeyRecord& record,
                        std::chrono::sys_seconds created) {
    const auto hash = keys_.key(digest);
    session_.run({"WATCH", hash});
    const bool reserved = session_.run({"EXISTS", hash}).integer != 0;
    auto commands = write_record(hash, record);
    commands.push_back({"HSET", hash, "created", seconds_of(created)});
    commands.push_back({"PERSIST", hash});
    if (!reserved || !commit(std::move(commands), digest, record.id) ||
        session_.run({"SISMEMBER", keys_.id(record.id), digest}).integer == 0) {
        session_.run({"UNWATCH"});
        remove(digest, record.id);
        session_.run({"SREM", keys_.id(record.id), digest});
        throw changed_meanwhile(record.id);
    }
}

/// Adds a reserved digest to an id that has a key, and returns the keys that it had, the current
/// one first. Digests that have ended are cleared away.
std::vector<StoredKey> KeyStore::add_successor(const std::string& id, const std::string& digest) {
    while (true) {
        session_.run({"WATCH", keys_.id(id)});
        const auto digests = lookup_.digests_of(id);
        auto keys = lookup_.read(digests);
        const bool busy = std::ranges::any_of(keys, &StoredKey::pending);
        if (keys.empty() || busy) {
            session_.run({"UNWATCH"});
            remove(digest, id);
            lookup_.require_id(id);
            throw busy ? changed_meanwhile(id) : without_keys(id);
        }
        std::vector<RedisCommand> commands{{"SADD", keys_.id(id), digest}};
        for (const auto& old : digests) {
            if (std::ranges::find(keys, old, &StoredKey::digest) == keys.end()) {
                commands.push_back({"SREM", keys_.id(id), old});
            }
        }
        if (session_.run_atomically(std::move(commands))) {
            return keys;
        }
    }
}

/// Changes the key with this digest; false when there is none that works or did.
bool KeyStore::change(const std::string& digest, const Change& apply) {
    const auto hash = keys_.key(digest);
    while (true) {
        session_.run({"WATCH", hash});
        auto found = lookup_.read({digest});
        if (found.empty() || found.front().pending) {
            session_.run({"UNWATCH"});
            return false;
        }
        StoredKey& key = found.front();
        apply(key);
        auto commands = write_record(hash, key.record);
        if (key.retiring && key.record.expires) {
            commands.push_back({"PEXPIREAT", hash, milliseconds_of(*key.record.expires)});
        }
        if (commit(std::move(commands), digest, key.record.id)) {
            return true;
        }
    }
}

void KeyStore::remove(const std::string& digest, const std::string& id) {
    commit({RedisCommand{"DEL", keys_.key(digest)}}, digest, id);
}

/// Runs the commands and tells the gateways, all or nothing; false when a watched key has changed.
bool KeyStore::commit(std::vector<RedisCommand> commands, const std::string& digest,
                      const std::string& id) {
    for (const auto& changed : {digest, id}) {
        if (!changed.empty()) {
            commands.push_back({"PUBLISH", keys_.events(), changed});
        }
    }
    return session_.run_atomically(std::move(commands)).has_value();
}

}  // namespace tollgate::cli
