#include "module/management/bulk_import.hpp"

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

#include "module/management/group_index.hpp"
#include "module/redis/protocol/redis_time.hpp"

namespace tollgate::management {

namespace {

/// The group of the id; empty: none.
std::string group_of(const KeysOfId& keys) {
    return keys.keys.front().record.group;
}

/// Whether a stored key is the one of a record. An import may not know when a key was created.
bool is_same(const StoredKey& stored, const StoredKey& key) {
    return stored.digest == key.digest && stored.record == key.record && !stored.replaced &&
           !stored.pending;
}

bool contains(const KeysOfId& keys, const StoredKey& stored) {
    return std::ranges::any_of(keys.keys,
                               [&](const StoredKey& key) { return is_same(stored, key); });
}

std::vector<std::string> digests_in(const KeysOfId& keys) {
    std::vector<std::string> digests;
    std::ranges::transform(keys.keys, std::back_inserter(digests), &StoredKey::digest);
    return digests;
}

/// The names in Redis that several records of a file may have, of which only the first is stored.
class FirstNames {
  public:
    /// Takes the names of the id and its keys. Returns false, and takes none, if one was taken.
    bool take(const redis::Keys& names, const KeysOfId& keys) {
        std::vector<std::string> own{names.id(keys.id)};
        for (const auto& key : keys.keys) {
            own.push_back(names.key(key.digest));
        }
        const bool is_first = std::ranges::none_of(
            own, [this](const std::string& name) { return taken_.contains(name); });
        if (is_first) {
            taken_.insert(own.begin(), own.end());
        }
        return is_first;
    }

  private:
    std::set<std::string> taken_;
};

}  // namespace

void BulkImport::refuse(std::size_t line, const std::string& why) {
    ++counts_.refused;
    refuse_(line, why);
}

void BulkImport::count_imported(const std::string& id) {
    ++counts_.imported;
    if (first_imported_.size() < kNamedIds) {
        first_imported_.push_back(id);
    }
}

Task<void> BulkImport::store(std::vector<Record> records) {
    if (records.empty()) {
        co_return;
    }
    if (!is_begun_) {
        // A user who may not announce keys changes nothing.
        std::vector<std::string> first = digests_in(records.front().keys);
        co_await announce(std::move(first));
        co_await index_.begin();
        is_begun_ = true;
    }
    if (revoked_ == KeyTransactions::Revoked::kRevived) {
        co_await forget_revoked(records);
    }
    std::vector<bool> created;
    if (is_atomic_) {
        created = co_await create(records);
    } else {
        created = co_await create_in_slots(records);
    }
    std::vector<std::string> stored;
    std::vector<Record> existing;
    for (std::size_t i = 0; i < records.size(); ++i) {
        if (!created[i]) {
            existing.push_back(std::move(records[i]));
            continue;
        }
        count_imported(records[i].keys.id);
        std::ranges::move(digests_in(records[i].keys), std::back_inserter(stored));
    }
    co_await announce(std::move(stored));
    co_await examine_all(std::move(existing));
}

Task<bool> BulkImport::has_anything_new(const std::vector<Record>& records) {
    std::vector<redis::Command> lookups;
    for (const auto& record : records) {
        lookups.push_back({"EXISTS", keys_.id(record.keys.id)});
        for (const auto& key : record.keys.keys) {
            lookups.push_back({"EXISTS", keys_.key(key.digest)});
        }
    }
    const auto exist = co_await run_all(database_, std::move(lookups));
    co_return std::ranges::any_of(exist, [](const auto& value) { return value.integer == 0; });
}

/// Removes the notes that keys of these records were revoked.
Task<void> BulkImport::forget_revoked(std::span<const Record> records) {
    std::vector<std::string> digests;
    for (const auto& record : records) {
        std::ranges::move(digests_in(record.keys), std::back_inserter(digests));
    }
    const auto found = co_await reader_.read_anything(std::move(digests));
    Transactions forget;
    for (const auto& key : found) {
        if (!key.revoked_of.empty()) {
            const auto hash = keys_.key(key.digest);
            auto& transaction = forget.emplace_back();
            transaction.conditions.push_back(unchanged(hash, key));
            transaction.commands.push_back({"DEL", hash});
        }
    }
    if (!forget.empty()) {
        co_await execute(database_, std::move(forget));
    }
}

/// Records whose id or key exists. Most of them are unchanged: the file is imported again.
Task<void> BulkImport::examine_all(std::vector<Record> records) {
    std::vector<std::string> ids;
    std::ranges::transform(records, std::back_inserter(ids),
                           [](const Record& record) { return record.keys.id; });
    const auto stored = co_await reader_.keys_of(std::move(ids));
    for (std::size_t i = 0; i < records.size(); ++i) {
        const auto& keys = stored[i].keys;
        const bool is_unchanged = keys.size() == records[i].keys.keys.size() &&
                                  std::ranges::all_of(keys, [&](const StoredKey& key) {
                                      return contains(records[i].keys, key);
                                  });
        if (is_unchanged) {
            ++counts_.unchanged;
        } else {
            co_await examine(std::move(records[i]));
        }
    }
}

/// Stores each record in one transaction. Returns which records are stored.
Task<std::vector<bool>> BulkImport::create(std::span<const Record> records) {
    Transactions transactions;
    for (const auto& record : records) {
        auto& transaction = transactions.emplace_back(claim_of(record.keys, {}));
        auto& add = transaction.commands.emplace_back(redis::Command{"ZADD", keys_.ids(), "NX"});
        add_to_ids(record.keys, add);
        std::ranges::move(
            index_.storing(record.keys.id, group_of(record.keys), entries_of(record.keys.keys)),
            std::back_inserter(transaction.commands));
        for (const auto& key : record.keys.keys) {
            auto creation = creation_of(key);
            std::ranges::move(creation.conditions, std::back_inserter(transaction.conditions));
            std::ranges::move(creation.commands, std::back_inserter(transaction.commands));
            std::ranges::move(creation.names, std::back_inserter(transaction.names));
        }
    }
    const auto all = co_await execute(database_, std::move(transactions));
    std::vector<bool> created;
    std::ranges::transform(all, std::back_inserter(created),
                           [](const Replies& replies) { return replies.has_value(); });
    co_return created;
}

/// Stores records where a transaction has one key: the list of ids first, then the sets of
/// digests, then the keys. Returns which records are stored.
Task<std::vector<bool>> BulkImport::create_in_slots(std::span<const Record> records) {
    std::vector<redis::Command> lookups;
    redis::Command groups{"HMGET", keys_.group_of_ids()};
    for (const auto& record : records) {
        groups.push_back(record.keys.id);
        lookups.push_back({"EXISTS", keys_.id(record.keys.id)});
        for (const auto& key : record.keys.keys) {
            lookups.push_back({"EXISTS", keys_.key(key.digest)});
        }
    }
    lookups.push_back(std::move(groups));
    const auto existing = co_await run_all(database_, std::move(lookups));
    std::vector<bool> created(records.size(), true);
    redis::Command add{"ZADD", keys_.ids(), "NX"};
    std::vector<std::string> entries;
    Transactions claims;
    Transactions keys;
    FirstNames first;
    auto exists = existing.begin();
    for (std::size_t i = 0; i < records.size(); ++i) {
        const auto& record = records[i].keys;
        const auto end = exists + 1 + static_cast<std::ptrdiff_t>(record.keys.size());
        created[i] = std::all_of(exists, end, [](const auto& value) { return value.integer == 0; });
        exists = end;
        created[i] = created[i] && first.take(keys_, record);
        if (created[i]) {
            add_to_ids(record, add);
            std::ranges::move(entries_of(record.keys), std::back_inserter(entries));
            claims.push_back(claim_of(record, {}));
            for (const auto& key : record.keys) {
                keys.push_back(creation_of(key));
            }
        }
    }
    if (claims.empty()) {
        co_return created;
    }
    co_await run(database_, std::move(add));
    co_await index_.add(std::move(entries));
    const auto claimed = co_await execute(database_, std::move(claims));
    // A key whose id could not be claimed must not be stored.
    auto claim = claimed.begin();
    auto key = keys.begin();
    for (std::size_t i = 0; i < records.size(); ++i) {
        if (!created[i]) {
            continue;
        }
        created[i] = (claim++)->has_value();
        const auto end = key + static_cast<std::ptrdiff_t>(records[i].keys.keys.size());
        key = created[i] ? end : keys.erase(key, end);
        if (!created[i]) {
            co_await withdraw(records[i].keys, false);
        }
    }
    co_await index_groups(records, created, existing.back());
    const auto stored = co_await execute(database_, std::move(keys));
    auto reply = stored.begin();
    for (std::size_t i = 0; i < records.size(); ++i) {
        if (created[i]) {
            const auto end = reply + static_cast<std::ptrdiff_t>(records[i].keys.keys.size());
            created[i] = std::all_of(reply, end, [](const auto& each) { return each.has_value(); });
            const bool is_stored =
                std::any_of(reply, end, [](const auto& each) { return each.has_value(); });
            reply = end;
            if (!is_stored) {
                co_await withdraw(records[i].keys, true);
            }
        }
    }
    co_return created;
}

/// Removes what was written before a record that another operation has kept from being stored:
/// what the index has of it, and its id, if this import has claimed it.
Task<void> BulkImport::withdraw(const KeysOfId& keys, bool is_claimed) {
    const auto& id = keys.id;
    if (is_claimed) {
        Transaction unclaim;
        unclaim.commands.push_back({"SREM", keys_.id(id)});
        std::ranges::move(digests_in(keys), std::back_inserter(unclaim.commands.back()));
        co_await execute(database_, std::move(unclaim));
        KeyTransactions transactions(database_, keys_, {});
        co_await transactions.unlist_if_empty(id);
    }
    auto entries = entries_of(keys.keys);
    co_await index_.remove(id, std::move(entries));
}

/// A record that differs from what is stored: an interrupted import is completed, or the record is
/// refused.
Task<void> BulkImport::examine(Record record) {
    const auto& wanted = record.keys;
    const auto stored = co_await reader_.snapshot(wanted.id);
    const auto& digests = stored.digests();
    const auto& own = stored.keys();
    const auto listed = digests_in(wanted);
    // An interrupted revocation may have left an id whose keys have all ended.
    auto ended = stored.ended();
    std::erase_if(ended, [&](const std::string& digest) {
        return std::ranges::find(listed, digest) != listed.end();
    });
    const bool is_part = std::ranges::all_of(digests, [&](const std::string& digest) {
        return std::ranges::find(listed, digest) != listed.end() ||
               (own.empty() && std::ranges::find(ended, digest) != ended.end());
    });
    const bool is_like =
        std::ranges::all_of(own, [&](const StoredKey& key) { return contains(wanted, key); });
    if (!digests.empty() && (!is_part || !is_like)) {
        refuse(record.line,
               "the id \"" + wanted.id + "\" already exists with other keys or values");
        co_return;
    }
    const auto all = co_await reader_.read_anything(listed);
    const auto foreign =
        std::ranges::find_if(all, [&](const StoredKey& key) { return key.record.id != wanted.id; });
    if (foreign != all.end()) {
        refuse(record.line, key_in_use(*foreign).what());
        co_return;
    }
    if (own.size() == wanted.keys.size()) {
        ++counts_.unchanged;
        co_return;
    }
    redis::Command add{"ZADD", keys_.ids(), "NX"};
    add_to_ids(wanted, add);
    co_await run(database_, std::move(add));
    auto entries = entries_of(wanted.keys);
    co_await index_.add(std::move(entries));
    auto claim = claim_of(wanted, digests);
    for (const auto& digest : ended) {
        claim.commands.push_back({"SREM", keys_.id(wanted.id), digest});
    }
    const auto claimed = co_await execute(database_, std::move(claim));
    if (claimed) {
        auto index = indexing(keys_, wanted.id, group_of(wanted));
        co_await run(database_, std::move(index));
    }
    Transactions missing;
    for (const auto& key : wanted.keys) {
        if (claimed && std::ranges::find(own, key.digest, &StoredKey::digest) == own.end()) {
            missing.push_back(creation_of(key));
        }
    }
    const auto created = co_await execute(database_, std::move(missing));
    const bool is_complete = claimed && std::ranges::all_of(created, [](const Replies& replies) {
                                 return replies.has_value();
                             });
    if (!is_complete) {
        refuse(record.line, "another operation changes \"" + wanted.id + "\" at the same time");
        co_return;
    }
    count_imported(wanted.id);
    auto stored_now = listed;
    co_await announce(std::move(stored_now));
}

/// Claims an id for its keys. `claimed` are the digests that its set must have now.
Transaction BulkImport::claim_of(const KeysOfId& keys,
                                 const std::vector<std::string>& claimed) const {
    Transaction transaction;
    transaction.conditions.push_back(
        {.command = {"SMEMBERS", keys_.id(keys.id)}, .elements = claimed});
    redis::Command claim{"SADD", keys_.id(keys.id)};
    std::ranges::transform(keys.keys, std::back_inserter(claim), &StoredKey::digest);
    transaction.commands.push_back(std::move(claim));
    return transaction;
}

/// Stores a key that must not exist.
Transaction BulkImport::creation_of(const StoredKey& key) const {
    const auto hash = keys_.key(key.digest);
    Transaction transaction;
    transaction.conditions.push_back({.command = reading_of_any(hash), .elements = {}});
    // The other command removes fields, and the hash is new.
    auto write = std::move(write_stored_key(hash, key).front());
    write.insert(write.end(),
                 {std::string(redis::record_field::kCreated), redis::unix_time(key.created)});
    transaction.commands.push_back(std::move(write));
    if (key.record.retiring) {
        transaction.commands.push_back(
            {"PEXPIREAT", hash, redis::unix_time(*key.record.expires) + "000"});
    }
    if (is_atomic_) {
        transaction.names = {key.digest};
    }
    return transaction;
}

/// Announces keys that were stored, unless that was a part of their transactions.
Task<void> BulkImport::announce(std::vector<std::string> digests) {
    if (!is_atomic_ && !digests.empty()) {
        Transaction announcement{.names = std::move(digests)};
        co_await execute(database_, std::move(announcement));
    }
}

/// Stores the groups of the ids that are claimed, where the index had other ones: a revoked id may
/// have been in another group.
Task<void> BulkImport::index_groups(std::span<const Record> records,
                                    const std::vector<bool>& claimed, const redis::Value& indexed) {
    redis::Command set{"HSET", keys_.group_of_ids()};
    redis::Command remove{"HDEL", keys_.group_of_ids()};
    for (std::size_t i = 0; i < records.size(); ++i) {
        auto group = group_of(records[i].keys);
        if (claimed[i] && indexed.elements[i].text != group) {
            auto index = indexing(keys_, records[i].keys.id, std::move(group));
            auto& command = index.front() == set.front() ? set : remove;
            std::move(index.begin() + 2, index.end(), std::back_inserter(command));
        }
    }
    std::vector<redis::Command> commands;
    for (auto* command : {&set, &remove}) {
        if (command->size() > 2) {
            commands.push_back(std::move(*command));
        }
    }
    co_await run_all(database_, std::move(commands));
}

void BulkImport::add_to_ids(const KeysOfId& keys, redis::Command& command) {
    const auto first = std::ranges::min_element(keys.keys, {}, &StoredKey::issue_time);
    command.insert(command.end(), {redis::unix_time(first->issue_time()), keys.id});
}

}  // namespace tollgate::management
