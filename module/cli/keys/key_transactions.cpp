#include "module/cli/keys/key_transactions.hpp"

#include <algorithm>
#include <thread>
#include <utility>

#include "module/cli/keys/change_notice.hpp"
#include "module/cli/keys/new_key.hpp"
#include "module/redis/protocol/schema.hpp"

namespace tollgate::cli {

namespace {

using namespace std::chrono_literals;
namespace field = redis::record_field;

// The lifetime of a reservation in milliseconds. A command finishes much earlier.
const std::string kReservationTime = "60000";

// How long to wait for another command, which needs about ten round trips, and how often to check.
// If the wait is too short, the other command fails without harm.
constexpr auto kLongestWait = 500ms;
constexpr auto kPause = 20ms;

bool names(const std::vector<StoredKey>& keys, std::string_view digest) {
    return std::ranges::find(keys, digest, &StoredKey::digest) != keys.end();
}

std::string seconds_of(std::chrono::sys_seconds time) {
    return std::to_string(time.time_since_epoch().count());
}

std::string milliseconds_of(std::chrono::sys_seconds time) {
    return std::to_string(std::chrono::milliseconds(time.time_since_epoch()).count());
}

}  // namespace

KeyTransactions::KeyTransactions(RedisSession& session, const redis::Keys& keys)
    : session_(session), keys_(keys), reader_(session, keys), command_(random_command_name()) {}

std::vector<StoredKey> KeyTransactions::settled_keys(const std::string& id, std::string_view own) {
    while (true) {
        auto keys = reader_.read(id, reader_.digests_of(id));
        std::erase_if(keys, [&](const StoredKey& key) { return key.digest == own; });
        if (std::ranges::any_of(keys, &StoredKey::is_unfinished) && !wait_or_time_out()) {
            continue;
        }
        const bool removed = std::ranges::all_of(keys, [&](const StoredKey& key) {
            return !key.pending || remove_unfinished(key.digest, id);
        });
        if (removed) {
            std::erase_if(keys, std::mem_fn(&StoredKey::pending));
            return keys;
        }
    }
}

void KeyTransactions::reserve(const std::string& digest, const std::string& id) {
    const auto hash = keys_.key(digest);
    while (true) {
        const auto found = watch(digest);
        if (found && !(found->pending || (found->is_unfinished() && found->record.id == id))) {
            unwatch();
            throw Failure(ExitStatus::kConflict,
                          "the key already exists: its id is \"" + found->record.id + "\"");
        }
        if (found && !wait_or_time_out()) {
            unwatch();
            continue;
        }
        if (commit(
                {{"DEL", hash},
                 {"HSET", hash, std::string(field::kId), id, std::string(field::kState),
                  std::string(redis::key_state::kPending), std::string(field::kCommand), command_},
                 {"PEXPIRE", hash, kReservationTime}},
                found ? digest : "", "")) {
            return;
        }
    }
}

bool KeyTransactions::claim(const std::string& id, const std::string& digest,
                            const std::vector<StoredKey>& known, bool first) {
    const auto set = keys_.id(id);
    announce_ended(id);
    session_.watch(set);
    const auto digests = reader_.digests_of(id);
    const auto keys = reader_.read(id, digests);
    const auto is_own = [&](const StoredKey& key) { return key.digest == digest; };
    const bool all_known = std::ranges::all_of(
        keys, [&](const StoredKey& key) { return is_own(key) || names(known, key.digest); });
    // If none of the known keys is left, the id was revoked in the meantime.
    const bool revoked = !first && std::ranges::all_of(keys, is_own);
    if (!all_known || revoked) {
        unwatch();
        return false;
    }
    std::vector<RedisCommand> commands{{"SADD", set, digest}};
    for (const auto& old : digests) {
        if (old != digest && !names(keys, old)) {
            commands.push_back({"SREM", set, old});
        }
    }
    if (first) {
        commands.push_back({"PEXPIRE", set, kReservationTime});
    }
    return session_.run_atomically(std::move(commands)).has_value();
}

bool KeyTransactions::list(const std::string& id, const std::string& digest,
                           std::chrono::sys_seconds created) {
    session_.run({"ZADD", keys_.ids(), "NX", seconds_of(created), id});
    const auto set = keys_.id(id);
    const auto replies = session_.run_atomically({{"PERSIST", set}, {"SISMEMBER", set, digest}});
    return replies && replies->back().integer == 1;
}

void KeyTransactions::unlist_if_empty(const std::string& id) {
    const auto score = session_.run({"ZSCORE", keys_.ids(), id});
    if (score.is_nil() || !reader_.digests_of(id).empty()) {
        return;
    }
    session_.run({"ZREM", keys_.ids(), id});
    // Another command may have claimed the id since the check.
    if (!reader_.digests_of(id).empty()) {
        session_.run({"ZADD", keys_.ids(), "NX", score.text, id});
    }
}

bool KeyTransactions::activate(const std::string& digest, const KeyRecord& record,
                               std::chrono::sys_seconds created) {
    const auto hash = keys_.key(digest);
    const auto found = watch(digest);
    if (!found || !found->pending || found->command != command_) {
        unwatch();
        return false;
    }
    auto commands = write_stored_key(
        hash, {.digest = digest, .record = record, .created = created, .command = command_});
    commands.push_back({"HSET", hash, std::string(field::kCreated), seconds_of(created)});
    commands.push_back({"PERSIST", hash});
    return commit(std::move(commands), digest, record.id);
}

bool KeyTransactions::is_claimed(const std::string& id, const std::string& digest) {
    return session_.run({"SISMEMBER", keys_.id(id), digest}).integer == 1;
}

bool KeyTransactions::confirm(const std::string& digest, const std::string& id) {
    while (true) {
        const auto found = watch(digest);
        // A command that changes or retires the key confirms it too.
        const bool lost = !found || found->pending || found->replaced || found->record.id != id ||
                          (!found->command.empty() && found->command != command_);
        if (lost || found->command.empty()) {
            unwatch();
            return !lost;
        }
        if (session_.run_atomically({{"HDEL", keys_.key(digest), std::string(field::kCommand)}})) {
            return true;
        }
    }
}

bool KeyTransactions::change(const std::string& digest, const std::string& id,
                             const Change& apply) {
    const auto hash = keys_.key(digest);
    while (true) {
        auto found = watch(digest);
        if (!found || found->pending || found->record.id != id) {
            unwatch();
            return false;
        }
        apply(*found);
        auto commands = write_stored_key(hash, *found);
        if (found->replaced) {
            commands.push_back({"PERSIST", hash});
        } else if (found->retiring && found->record.expires) {
            commands.push_back({"PEXPIREAT", hash, milliseconds_of(*found->record.expires)});
        }
        if (commit(std::move(commands), digest, id)) {
            return true;
        }
    }
}

void KeyTransactions::remove(const std::string& digest, const std::string& id) {
    remove_if(digest, id, [](const StoredKey&) { return true; });
}

bool KeyTransactions::remove_unfinished(const std::string& digest, const std::string& id) {
    return remove_if(digest, id, std::mem_fn(&StoredKey::is_unfinished));
}

void KeyTransactions::withdraw(const std::string& digest, const std::string& id) {
    if (remove_if(digest, id, [&](const StoredKey& key) { return key.command == command_; })) {
        session_.run({"SREM", keys_.id(id), digest});
    }
}

/// Removes a key of this id if `condition` is true. Returns false if the key exists and `condition`
/// is false.
bool KeyTransactions::remove_if(const std::string& digest, const std::string& id,
                                const std::function<bool(const StoredKey&)>& condition) {
    while (true) {
        const auto found = watch(digest);
        const bool gone = !found || found->record.id != id;
        if (gone || !condition(*found)) {
            unwatch();
            if (!found) {
                announce_again({digest, id});
            }
            return gone;
        }
        if (commit({RedisCommand{"DEL", keys_.key(digest)}}, digest, id)) {
            return true;
        }
    }
}

/// Watches and reads a key: the next transaction fails if the key changes before it.
std::optional<StoredKey> KeyTransactions::watch(const std::string& digest) {
    session_.watch(keys_.key(digest));
    auto found = reader_.read({digest});
    return found.empty() ? std::nullopt : std::optional(std::move(found.front()));
}

/// Waits kPause for another command. Returns true without waiting if kLongestWait has passed since
/// the first call.
bool KeyTransactions::wait_or_time_out() {
    const auto now = Clock::now();
    waits_until_ = waits_until_.value_or(now + kLongestWait);
    if (now < *waits_until_) {
        std::this_thread::sleep_for(kPause);
        return false;
    }
    return true;
}

bool KeyTransactions::commit(std::vector<RedisCommand> commands, const std::string& digest,
                             const std::string& id) {
    return change_and_announce(session_, keys_, std::move(commands),
                               std::vector<std::string>{digest, id});
}

/// Announces keys that do not exist any more. If a change and its announcement are separate, an
/// interrupted command may have removed the keys without it.
void KeyTransactions::announce_again(const std::vector<std::string>& names) {
    if (!session_.may_span(keys_.key(names.front()), keys_.changes())) {
        announce(session_, keys_, names);
    }
}

/// Announces the digests in the set of an id that have no key. claim() removes them from the set.
void KeyTransactions::announce_ended(const std::string& id) {
    auto digests = reader_.digests_of(id);
    const auto keys = reader_.read(id, digests);
    std::erase_if(digests, [&](const std::string& digest) { return names(keys, digest); });
    if (!digests.empty()) {
        announce_again(digests);
    }
}

Failure concurrent_change(const std::string& id) {
    return {ExitStatus::kConflict,
            "another command has changed \"" + id + "\" at the same time: run the command again"};
}

}  // namespace tollgate::cli
