#include "module/management/key_transactions.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "module/management/key_changes.hpp"
#include "module/management/random_key.hpp"
#include "module/redis/protocol/redis_time.hpp"

namespace tollgate::management {

namespace {

using namespace std::chrono_literals;
namespace field = redis::record_field;

// The lifetime of a reservation in milliseconds. An operation ends much earlier.
const std::string kReservationTime = "60000";

// How often to check for another operation, which needs about ten round trips, and how many times.
// If the wait is too short, the other operation fails without harm.
constexpr auto kPause = 20ms;
constexpr int kMostWaits = 25;

bool has_digest(const std::vector<StoredKey>& keys, std::string_view digest) {
    return std::ranges::find(keys, digest, &StoredKey::digest) != keys.end();
}

/// Whether a key may be reserved for an id although Redis has this under its name: an operation has
/// left it, or has not ended.
bool is_replaceable(const StoredKey& found, const std::string& id) {
    return found.pending || (found.is_key() && found.is_unfinished() && found.record.id == id);
}

std::string milliseconds_of(std::chrono::sys_seconds time) {
    return std::to_string(std::chrono::milliseconds(time.time_since_epoch()).count());
}

}  // namespace

KeyTransactions::KeyTransactions(Database& database, const redis::Keys& keys, AuditEntry entry)
    : database_(database),
      keys_(keys),
      reader_(database, keys),
      index_(database, keys),
      entry_(std::move(entry)),
      operation_(random_operation_name()) {}

Task<std::vector<StoredKey>> KeyTransactions::settled_keys(std::string id, std::string own) {
    while (true) {
        auto all = co_await reader_.all_keys(id);
        auto& keys = all.keys;
        std::erase_if(keys, [&](const StoredKey& key) { return key.digest == own; });
        if (std::ranges::any_of(
                keys, [&](const StoredKey& key) { return key.is_unfinished() && !is_own(key); })) {
            const bool is_over = co_await wait_or_time_out();
            if (!is_over) {
                continue;
            }
        }
        bool removed = true;
        for (const auto& key : keys) {
            if (removed && key.pending) {
                removed = co_await remove_unfinished(key.digest, id);
            }
        }
        if (removed) {
            std::erase_if(keys, std::mem_fn(&StoredKey::pending));
            co_return std::move(keys);
        }
    }
}

Task<void> KeyTransactions::reserve(StoredKey key, Revoked revoked) {
    const auto& digest = key.digest;
    const auto hash = keys_.key(digest);
    key.pending = true;
    key.operation = operation_;
    for (bool reserved = false; !reserved;) {
        const auto found = co_await find(digest);
        const bool was_revoked = found && !found->revoked_of.empty();
        const bool is_replaced = !found || (was_revoked && revoked == Revoked::kRevived) ||
                                 is_replaceable(*found, key.record.id);
        if (!is_replaced) {
            throw key_in_use(*found);
        }
        if (found && !was_revoked) {
            const bool is_over = co_await wait_or_time_out();
            if (!is_over) {
                continue;
            }
        }
        auto transaction = change_of(found.value_or(StoredKey{.digest = digest}));
        transaction.commands = {{"DEL", hash},
                                write_stored_key(hash, key).front(),
                                {"PEXPIRE", hash, kReservationTime}};
        // A user who may not publish, or not write the audit, is refused here, before the id is
        // claimed.
        transaction.names = {digest};
        reserved = co_await commit(std::move(transaction), Audited::kYes);
    }
}

Task<std::optional<StoredKey>> KeyTransactions::obstacle_to(std::string digest, std::string id) {
    auto found = co_await find(std::move(digest));
    if (found && is_replaceable(*found, id)) {
        found.reset();
    }
    co_return found;
}

Task<bool> KeyTransactions::claim(std::string id, std::string digest, std::vector<StoredKey> known,
                                  bool first) {
    const auto read = co_await reader_.snapshot(id);
    auto ended = read.ended();
    std::erase(ended, digest);
    co_await announce_ended(ended);
    const auto set = keys_.id(id);
    const auto& keys = read.keys();
    const auto is_own = [&](const StoredKey& key) { return key.digest == digest; };
    const bool all_known = std::ranges::all_of(
        keys, [&](const StoredKey& key) { return is_own(key) || has_digest(known, key.digest); });
    // If none of the known keys is left, the id was revoked in the meantime.
    const bool revoked = !first && std::ranges::all_of(keys, is_own);
    if (!all_known || revoked) {
        co_return false;
    }
    Transaction transaction;
    transaction.conditions.push_back({.command = {"SMEMBERS", set}, .elements = read.digests()});
    transaction.commands.push_back({"SADD", set, digest});
    redis::Command forget_uses{"HDEL", keys_.used(id)};
    for (const auto& old : ended) {
        transaction.commands.push_back({"SREM", set, old});
        forget_uses.push_back(old);
    }
    if (first) {
        transaction.commands.push_back({"PEXPIRE", set, kReservationTime});
    }
    if (forget_uses.size() > 2) {
        co_await run(database_, std::move(forget_uses));
    }
    const auto replies = co_await execute(database_, std::move(transaction));
    co_return replies.has_value();
}

Task<bool> KeyTransactions::list(std::string id, std::string digest,
                                 std::chrono::sys_seconds created) {
    redis::Command add{"ZADD", keys_.ids(), "NX", redis::unix_time(created), id};
    co_await run(database_, std::move(add));
    const auto set = keys_.id(id);
    Transaction transaction;
    transaction.commands.push_back({"PERSIST", set});
    transaction.commands.push_back({"SISMEMBER", set, digest});
    const auto replies = co_await execute(database_, std::move(transaction));
    co_return replies && replies->back().integer == 1;
}

Task<void> KeyTransactions::unlist_if_empty(std::string id) {
    redis::Command score_of{"ZSCORE", keys_.ids(), id};
    const auto score = co_await run(database_, std::move(score_of));
    auto digests = co_await reader_.digests_of(id);
    if (score.is_nil() || !digests.empty()) {
        co_return;
    }
    redis::Command remove_id{"ZREM", keys_.ids(), id};
    co_await run(database_, std::move(remove_id));
    // Another operation may have claimed the id since the check.
    digests = co_await reader_.digests_of(id);
    if (!digests.empty()) {
        redis::Command add{"ZADD", keys_.ids(), "NX", score.text, id};
        co_await run(database_, std::move(add));
    }
}

Task<bool> KeyTransactions::activate(StoredKey key) {
    const auto found = co_await find(key.digest);
    if (!found || !found->pending || found->operation != operation_) {
        co_return false;
    }
    key.operation = operation_;
    auto transaction = change_of(*found);
    const auto hash = keys_.key(key.digest);
    transaction.commands = write_stored_key(hash, key);
    transaction.commands.push_back(
        {"HSET", hash, std::string(field::kCreated), redis::unix_time(key.created)});
    transaction.commands.push_back({"PERSIST", hash});
    transaction.names = {key.digest, key.record.id};
    co_return co_await commit(std::move(transaction), Audited::kYes);
}

Task<bool> KeyTransactions::is_claimed(std::string id, std::string digest) {
    redis::Command command{"SISMEMBER", keys_.id(id), digest};
    const auto member = co_await run(database_, std::move(command));
    co_return member.integer == 1;
}

Task<bool> KeyTransactions::confirm(std::string digest, std::string id) {
    while (true) {
        const auto found = co_await find(digest);
        // An operation that changes or retires the key confirms it too.
        const bool lost = !found || found->pending || found->replaced || found->record.id != id ||
                          (!found->operation.empty() && found->operation != operation_);
        if (lost || found->operation.empty()) {
            co_return !lost;
        }
        auto transaction = change_of(*found);
        transaction.commands = {{"HDEL", keys_.key(digest), std::string(field::kOperation)}};
        const auto replies = co_await execute(database_, std::move(transaction));
        if (replies) {
            co_return true;
        }
    }
}

Task<bool> KeyTransactions::change(StoredKey read, Change apply) {
    return change_unless(std::move(read), std::move(apply), std::nullopt);
}

Task<bool> KeyTransactions::copy(StoredKey source, StoredKey read, Change apply) {
    return change_unless(std::move(read), std::move(apply), std::move(source));
}

/// Changes a key, unless `source` is not as it was read.
Task<bool> KeyTransactions::change_unless(StoredKey read, Change apply,
                                          std::optional<StoredKey> source) {
    const auto& digest = read.digest;
    const auto& id = read.record.id;
    const auto hash = keys_.key(digest);
    const bool is_apart = !database_.may_span(hash, keys_.index());
    for (bool changed = false; !changed;) {
        auto found = co_await find(digest);
        if (source) {
            // After the key was read: who changes the source then changes the key later.
            const auto now = co_await find(source->digest);
            if (!now || now->stored_fields != source->stored_fields) {
                co_return false;
            }
        }
        if (!found || found->pending || found->record.id != id ||
            found->record.retiring != read.record.retiring) {
            co_return false;
        }
        auto transaction = change_of(*found);
        if (source && !is_apart) {
            transaction.conditions.push_back(unchanged(keys_.key(source->digest), *source));
        }
        if (!read.record.retiring) {
            // Its hash may be the same after it has begun to retire.
            transaction.conditions.push_back({.command = {"PTTL", hash}, .elements = {"-1"}});
        }
        const StoredKey before = *found;
        if (!apply(*found)) {
            co_return false;
        }
        if (entry_.tells_before) {
            note_replaced(before.record, found->record);
        }
        auto entries = index_change(before, *found);
        transaction.names = {digest, id};
        co_await begin(transaction.names, Audited::kYes);
        // The group even if it is not changed: the index may differ from the record.
        transaction.commands = index_.storing(id, found->record.group, entries.added);
        // Together with the record if that may be: a user who may not publish changes nothing.
        if (is_apart) {
            co_await run_all(database_, std::exchange(transaction.commands, {}));
        }
        std::ranges::move(write_stored_key(hash, *found), std::back_inserter(transaction.commands));
        if (found->replaced) {
            transaction.commands.push_back({"PERSIST", hash});
        } else if (found->record.retiring && found->record.expires) {
            transaction.commands.push_back(
                {"PEXPIREAT", hash, milliseconds_of(*found->record.expires)});
        }
        changed = co_await commit(std::move(transaction), Audited::kYes);
        if (changed) {
            co_await index_.remove(id, std::move(entries.removed));
        } else if (is_apart) {
            // The key may have been removed meanwhile, or changed.
            co_await index_.remove(id, std::move(entries.added));
        }
        if (is_apart) {
            OwnerName left{.id = id, .group = (changed ? *found : before).record.group};
            co_await settle_group(std::move(left), found->record.group);
        }
    }
    co_return true;
}

/// Stores the group of an id in the index until it is that of its current key: another operation
/// may have stored the group of the record that it has read. If the id has no key any more, the
/// index has the group in `left` again where this operation has `stored` another one.
Task<void> KeyTransactions::settle_group(OwnerName left, std::string stored) {
    constexpr int kMostAttempts = 100;
    for (int attempts = 0; attempts < kMostAttempts; ++attempts) {
        const auto read = co_await reader_.snapshot(left.id);
        const auto& keys = read.keys();
        const bool has_key = !keys.empty() && !keys.front().pending;
        std::string group = has_key ? keys.front().record.group : left.group;
        const auto indexed = co_await owner_of(database_, keys_, left.id);
        if (indexed.group == group || (!has_key && indexed.group != stored)) {
            co_return;
        }
        // The record may have changed meanwhile: it is compared again.
        auto command = indexing(keys_, left.id, std::move(group));
        co_await run(database_, std::move(command));
    }
}

Task<void> KeyTransactions::remove(std::string digest, std::string id, Ending ending) {
    Accepts any = [](const StoredKey&) { return true; };
    co_await try_to_remove(digest, id, std::move(any), ending);
}

Task<bool> KeyTransactions::remove_if(std::string digest, std::string id, Accepts condition,
                                      Ending ending) {
    const auto removal = co_await try_to_remove(digest, id, std::move(condition), ending);
    co_return removal == Removal::kRemoved;
}

Task<bool> KeyTransactions::remove_unfinished(std::string digest, std::string id) {
    Accepts unfinished = std::mem_fn(&StoredKey::is_unfinished);
    const auto removal =
        co_await try_to_remove(digest, id, std::move(unfinished), Ending::kForgotten);
    co_return removal != Removal::kRefused;
}

Task<void> KeyTransactions::withdraw(std::string digest, std::string id) {
    Accepts own = [this](const StoredKey& key) { return is_own(key); };
    const auto removal = co_await try_to_remove(digest, id, std::move(own), Ending::kForgotten);
    if (removal != Removal::kRefused) {
        redis::Command command{"SREM", keys_.id(id), digest};
        co_await run(database_, std::move(command));
    }
}

/// Removes a key of this id if `condition` is true.
Task<KeyTransactions::Removal> KeyTransactions::try_to_remove(std::string digest, std::string id,
                                                              Accepts condition, Ending ending) {
    const auto hash = keys_.key(digest);
    const auto audited = ending == Ending::kForgotten ? Audited::kNo : Audited::kYes;
    while (true) {
        const auto found = co_await find(digest);
        if (!found || !found->revoked_of.empty()) {
            std::vector<std::string> names{digest, id};
            co_await announce_again(hash, std::move(names));
            if (found || ending != Ending::kRevoked) {
                co_return Removal::kGone;
            }
        } else if (found->is_invalid ? ending == Ending::kForgotten : found->record.id != id) {
            co_return Removal::kGone;
        } else if (found->is_key() && !condition(*found)) {
            co_return Removal::kRefused;
        }
        const StoredKey read = found.value_or(StoredKey{.digest = digest});
        auto transaction = change_of(read);
        transaction.commands = ending_of(read, id, read.pending ? Ending::kForgotten : ending);
        transaction.names = {digest, id};
        const bool removed = co_await commit(std::move(transaction), audited);
        if (!removed) {
            continue;
        }
        if (!found) {
            co_return Removal::kGone;
        }
        auto entries = entries_of(*found);
        co_await index_.remove(id, std::move(entries));
        co_return Removal::kRemoved;
    }
}

/// The commands that remove a key, and leave what is to remain of it.
std::vector<redis::Command> KeyTransactions::ending_of(const StoredKey& key, const std::string& id,
                                                       Ending ending) const {
    const auto hash = keys_.key(key.digest);
    if (ending == Ending::kForgotten) {
        return {{"DEL", hash}};
    }
    // The successor of a rotated key has its fields.
    const bool is_rotated = ending == Ending::kRotated;
    auto commands =
        write_revoked(hash, key, id, is_rotated ? BilledFields::kOmitted : BilledFields::kKept);
    if (is_rotated) {
        const auto kept = std::chrono::milliseconds(redis::kRotatedKept);
        commands.push_back({"PEXPIRE", hash, std::to_string(kept.count())});
    }
    return commands;
}

Task<std::optional<StoredKey>> KeyTransactions::find(std::string digest) {
    std::vector<std::string> digests{digest};
    auto found = co_await reader_.read_anything(std::move(digests));
    if (found.empty()) {
        co_return std::nullopt;
    }
    co_return std::move(found.front());
}

/// A transaction that is executed if the key is as it was read.
Transaction KeyTransactions::change_of(const StoredKey& key) const {
    Transaction transaction;
    transaction.conditions.push_back(unchanged(keys_.key(key.digest), key));
    return transaction;
}

/// Waits kPause for another operation. Returns true without waiting after kMostWaits.
Task<bool> KeyTransactions::wait_or_time_out() {
    if (waits_ == kMostWaits) {
        co_return true;
    }
    ++waits_;
    co_await wait(database_, kPause);
    co_return false;
}

void KeyTransactions::note_replaced(const KeyRecord& before, const KeyRecord& after) {
    if (!is_audited_) {
        entry_.before = replaced_text(before, after);
    }
}

Task<bool> KeyTransactions::commit(Transaction transaction, Audited audited) {
    if (database_.may_span(key_of(transaction, keys_), keys_.changes())) {
        const bool adds_entry = audited == Audited::kYes && !is_audited_;
        if (adds_entry) {
            // First: if it is refused, no command is executed.
            transaction.commands.insert(transaction.commands.begin(), add_to_audit(keys_, entry_));
        }
        const auto replies = co_await execute(database_, std::move(transaction));
        is_audited_ = is_audited_ || (adds_entry && replies);
        co_return replies.has_value();
    }
    co_await begin(transaction.names, audited);
    auto names = std::exchange(transaction.names, {});
    const auto replies = co_await execute(database_, std::move(transaction));
    if (replies && !names.empty()) {
        Transaction announcement{.names = std::move(names)};
        co_await execute(database_, std::move(announcement));
    }
    co_return replies.has_value();
}

Task<void> KeyTransactions::begin(std::vector<std::string> names, Audited audited) {
    if (database_.may_span(keys_.ids(), keys_.changes())) {
        co_return;
    }
    if (audited == Audited::kYes && !is_audited_) {
        auto entry = add_to_audit(keys_, entry_);
        co_await run(database_, std::move(entry));
        is_audited_ = true;
    }
    if (!is_announced_ && !names.empty()) {
        Transaction announcement{.names = std::move(names)};
        co_await execute(database_, std::move(announcement));
        is_announced_ = true;
    }
}

Task<void> KeyTransactions::announce_again(std::string removed, std::vector<std::string> names) {
    if (!database_.may_span(removed, keys_.changes())) {
        Transaction announcement{.names = std::move(names)};
        co_await execute(database_, std::move(announcement));
    }
}

/// Announces digests of an id that have no key. claim() removes them from its set.
Task<void> KeyTransactions::announce_ended(std::vector<std::string> digests) {
    if (!digests.empty()) {
        auto removed = keys_.key(digests.front());
        co_await announce_again(std::move(removed), std::move(digests));
    }
}

OperationError key_in_use(const StoredKey& found) {
    if (!found.revoked_of.empty()) {
        return {Reason::kRevokedKey,
                "the key was revoked: its id was \"" + found.revoked_of + "\""};
    }
    if (found.is_invalid) {
        return {Reason::kKeyExists,
                "Redis has something else under the name of the key: remove key:" + found.digest};
    }
    return {Reason::kKeyExists, "the key already exists: its id is \"" + found.record.id + "\""};
}

OperationError concurrent_change(const std::string& id) {
    return {Reason::kConcurrentChange,
            "another operation has changed \"" + id + "\" at the same time"};
}

}  // namespace tollgate::management
