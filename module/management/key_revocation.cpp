#include <chrono>
#include <iterator>
#include <utility>

#include "module/management/group_index.hpp"
#include "module/management/key_operation.hpp"
#include "module/redis/protocol/redis_time.hpp"

namespace tollgate::management {

namespace {

std::set<std::string> entry_set_of(const std::vector<StoredKey>& keys) {
    auto entries = entries_of(keys);
    return {std::make_move_iterator(entries.begin()), std::make_move_iterator(entries.end())};
}

}  // namespace

/// Removes the current key of an id, if it has one, and if it meets the condition. Returns its
/// digest.
Task<std::set<std::string>> KeyOperation::remove_current(std::string id) {
    const KeyTransactions::Accepts is_met = [&](const StoredKey& key) {
        require_condition(key, {});
        return true;
    };
    std::set<std::string> removed;
    while (removed.empty()) {
        const auto keys = co_await reader_.find(id);
        if (keys.keys.empty()) {
            if (!condition_(std::nullopt)) {
                throw condition_failed(id);
            }
            break;
        }
        revoked_entries_.merge(entry_set_of(keys.keys));
        const auto& digest = keys.keys.front().digest;
        const bool is_removed = co_await transactions_.remove_if(digest, id, is_met);
        if (is_removed) {
            removed.insert(digest);
        }
    }
    co_return removed;
}

/// Notes what the index has of the keys that are removed.
Task<void> KeyOperation::note_entries(std::string id) {
    std::vector<std::string> digests(revoked_->begin(), revoked_->end());
    const auto keys = co_await reader_.read(std::move(id), std::move(digests));
    revoked_entries_.merge(entry_set_of(keys));
}

/// The history of the id remains: its last days may not have been billed.
Task<void> KeyOperation::list_as_revoked(std::string id) {
    const auto now = co_await reader_.now();
    Transaction list;
    list.commands = {
        {"ZADD", keys_.revoked(), redis::unix_time(now), std::move(id)},
        {"ZREMRANGEBYSCORE", keys_.revoked(), "-inf", redis::unix_time(now - redis::kRevokedKept)}};
    co_await execute(database_, std::move(list));
}

Task<void> KeyOperation::revoke(std::string id) {
    using Audited = KeyTransactions::Audited;
    // A failover may undo the end of a key and not that of its id, on another master.
    if (!revoked_) {
        co_await reader_.require_id(id);
        std::set<std::string> revoked;
        if (condition_) {
            revoked = co_await remove_current(id);
        }
        revoked_ = std::move(revoked);
    }
    auto digests = co_await reader_.digests_of(id);
    revoked_->insert(digests.begin(), digests.end());
    co_await note_entries(id);
    for (const auto& digest : *revoked_) {
        co_await transactions_.remove(digest, id);
    }
    const auto owner = co_await owner_of(database_, keys_, id);
    const auto ban = keys_.ban(owner.owner());
    const bool may_span = database_.may_span(keys_.id(id), ban);
    Transaction remove_ban;
    remove_ban.commands.push_back({"DEL", ban});
    remove_ban.names.push_back(id);
    co_await transactions_.commit(remove_ban, Audited::kYes);
    // Gateways do not write it again once the id has no set.
    const redis::Command remove_uses{"DEL", keys_.used(id)};
    co_await list_as_revoked(id);
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
            remove_id.commands.push_back({"DEL", ban});
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
    std::vector<std::string> entries(revoked_entries_.begin(), revoked_entries_.end());
    co_await index_.remove(id, std::move(entries));
}

}  // namespace tollgate::management
