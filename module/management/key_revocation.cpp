#include <algorithm>
#include <chrono>
#include <iterator>
#include <utility>

#include "module/management/group_index.hpp"
#include "module/management/key_operation.hpp"
#include "module/redis/protocol/redis_time.hpp"

namespace tollgate::management {

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
        const auto& digest = keys.keys.front().digest;
        const bool is_removed =
            co_await transactions_.remove_if(digest, id, is_met, KeyTransactions::Ending::kRevoked);
        if (is_removed) {
            removed.insert(digest);
        }
    }
    co_return removed;
}

Task<void> KeyOperation::remove_all(std::string id, std::set<std::string> digests) {
    for (const auto& digest : digests) {
        co_await transactions_.remove(digest, id, KeyTransactions::Ending::kRevoked);
    }
}

/// Removes the keys in the set of the id that were not removed yet. Returns the digests in the set.
Task<std::vector<std::string>> KeyOperation::remove_listed(std::string id) {
    auto digests = co_await reader_.digests_of(id);
    for (const auto& digest : digests) {
        if (revoked_->insert(digest).second) {
            co_await transactions_.remove(digest, id, KeyTransactions::Ending::kRevoked);
        }
    }
    co_return digests;
}

/// The history of the id remains: its last days may not have been billed. Its place stays what it
/// was among the ids that exist, so that a program that reads pages of both finds it once.
Task<void> KeyOperation::list_as_revoked(std::string id) {
    const auto now = co_await reader_.now();
    redis::Command created{"ZSCORE", keys_.ids(), id};
    const auto score = co_await run(database_, std::move(created));
    const auto place = score.is_nil() ? redis::unix_time(now) : score.text;
    const auto earliest = now - redis::kRevokedKept;
    std::vector<redis::Command> commands{{"ZADD", keys_.revoked(), "NX", place, id},
                                         {"ZADD", keys_.revocations(), redis::unix_time(now), id},
                                         {"ZRANGEBYSCORE", keys_.revocations(), "-inf",
                                          redis::unix_time(earliest), "LIMIT", "0", "100"}};
    const auto replies = co_await run_all(database_, std::move(commands));
    auto past = replies.back().texts();
    if (past.empty()) {
        co_return;
    }
    redis::Command unlist{"ZREM", keys_.revoked()};
    std::ranges::copy(past, std::back_inserter(unlist));
    co_await run(database_, std::move(unlist));
    // Last: they are found by this list.
    redis::Command forget{"ZREM", keys_.revocations()};
    std::ranges::move(past, std::back_inserter(forget));
    co_await run(database_, std::move(forget));
}

/// Notes the digests that the id had.
Task<void> KeyOperation::note_ended(std::string id, std::vector<std::string> digests) {
    if (digests.empty()) {
        co_return;
    }
    const auto ended = keys_.ended(id);
    redis::Command add{"SADD", ended};
    std::ranges::move(digests, std::back_inserter(add));
    Transaction note;
    note.commands.push_back(std::move(add));
    note.commands.push_back(
        {"PEXPIRE", ended, std::to_string(std::chrono::milliseconds(redis::kRevokedKept).count())});
    co_await execute(database_, std::move(note));
}

Task<void> KeyOperation::revoke(std::string id) {
    using Audited = KeyTransactions::Audited;
    if (!revoked_) {
        const bool exists = co_await is_not_yet_revoked(database_, keys_, id);
        redis::Command read{"SMEMBERS", keys_.ended(id)};
        const auto ended = co_await run(database_, std::move(read));
        const auto before = ended.texts();
        std::set<std::string> revoked(before.begin(), before.end());
        if (!exists) {
            co_await remove_all(id, std::move(revoked));
            co_return;
        }
        if (condition_) {
            auto current = co_await remove_current(id);
            revoked.merge(current);
        }
        revoked_ = std::move(revoked);
    }
    co_await remove_all(id, *revoked_);
    co_await remove_listed(id);
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
    std::vector<std::string> digests;
    for (bool removed = false; !removed;) {
        if (!may_span) {
            co_await transactions_.commit(remove_ban, Audited::kYes);
            co_await run(database_, remove_uses);
        }
        digests = co_await remove_listed(id);
        co_await note_ended(id, digests);
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
    // Another operation may have stored one of them again, before the set was removed.
    std::set<std::string> listed(digests.begin(), digests.end());
    co_await remove_all(id, std::move(listed));
    // Or have listed the id again.
    co_await transactions_.unlist_if_empty(id);
    if (!may_span) {
        co_await run(database_, remove_uses);
    }
}

Task<bool> is_not_yet_revoked(Database& database, const redis::Keys& keys, std::string id) {
    std::vector<redis::Command> commands{{"ZSCORE", keys.ids(), id},
                                         {"EXISTS", keys.id(id)},
                                         {"ZSCORE", keys.revoked(), id},
                                         {"EXISTS", keys.ended(id)}};
    const auto replies = co_await run_all(database, std::move(commands));
    const bool exists = !replies[0].is_nil() || replies[1].integer == 1;
    const bool was_revoked = !replies[2].is_nil() || replies[3].integer == 1;
    if (!exists && !was_revoked) {
        throw unknown_id(id);
    }
    co_return exists;
}

}  // namespace tollgate::management
