#include "module/management/groups.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "module/management/acknowledgement.hpp"
#include "module/management/key_json.hpp"
#include "module/management/key_transactions.hpp"
#include "module/plan/value_digest.hpp"

namespace tollgate::management {

namespace {

namespace field = redis::record_field;

/// The record of a group as that of an id.
KeyRecord record_in(std::string group, const redis::Value& hash) {
    const auto fields = hash.fields();
    KeyRecord record;
    for (const auto& part : redis::record_fields()) {
        if (part.sets_quotas) {
            redis::read_field(part, fields[part.name], record);
        }
    }
    record.id = std::move(group);
    return record;
}

GroupRecord group_in(std::string group, const redis::Value& hash) {
    return group_of(record_in(std::move(group), hash));
}

OperationError unknown_group(const std::string& group) {
    return {Reason::kUnknownGroup, "the group \"" + group + "\" has no record"};
}

/// Changes the hash of a group if it is as it was read.
Transaction change_of(const redis::Keys& keys, const std::string& group, const redis::Value& hash) {
    Transaction transaction;
    transaction.conditions.push_back(
        {.command = {"HGETALL", keys.group(group)}, .elements = hash.texts()});
    transaction.names.push_back(redis::change_of_group(group));
    return transaction;
}

std::vector<redis::Command> writing_of(const std::string& name, const KeyRecord& record) {
    redis::Command set{"HSET", name, std::string(field::kId), record.id};
    redis::Command remove{"HDEL", name};
    for (const auto& part : redis::record_fields()) {
        if (!part.sets_quotas) {
            continue;
        }
        auto text = redis::stored_text(part, record);
        auto& command = text.empty() ? remove : set;
        command.emplace_back(part.name);
        if (!text.empty()) {
            command.push_back(std::move(text));
        }
    }
    std::vector<redis::Command> commands{std::move(set)};
    if (remove.size() > 2) {
        commands.push_back(std::move(remove));
    }
    return commands;
}

/// The list of groups may be in another slot: it has each group that has a record, and may have
/// more.
redis::Command listing_of(const redis::Keys& keys, std::string group) {
    return {"ZADD", keys.groups(), "0", std::move(group)};
}

Task<void> list_group(Database& database, const redis::Keys& keys, std::string group) {
    co_await run(database, listing_of(keys, std::move(group)));
}

/// Removes a group without a record from the list.
Task<void> unlist_group(Database& database, const redis::Keys& keys, std::string group) {
    redis::Command remove{"ZREM", keys.groups(), group};
    co_await run(database, std::move(remove));
    // Another operation may have stored the record again since.
    redis::Command exists{"EXISTS", keys.group(group)};
    const auto is_there = co_await run(database, std::move(exists));
    if (is_there.integer == 1) {
        co_await list_group(database, keys, std::move(group));
    }
}

Task<void> write(Database& database, const redis::Keys& keys, KeyTransactions& transactions,
                 std::string group, const KeyChanges& changes,
                 const std::function<void(const KeyRecord&)>& check) {
    const auto name = keys.group(group);
    const auto today = co_await day_of_change(database, changes);
    for (bool is_written = false; !is_written;) {
        redis::Command read{"HGETALL", name};
        const auto hash = co_await run(database, std::move(read));
        const KeyRecord stored = record_in(group, hash);
        KeyRecord record = stored;
        if (hash.elements.empty()) {
            apply(changes, record);
        } else {
            apply_at(changes, record, today);
        }
        if (record.plan.empty()) {
            refuse("plan: a new group needs a plan");
        }
        check(record);
        if (!hash.elements.empty()) {
            transactions.note_replaced(stored, record);
        }
        auto transaction = change_of(keys, group, hash);
        transaction.commands = writing_of(name, record);
        // This operation may be interrupted after it has stored the record.
        redis::Command list = listing_of(keys, group);
        if (database.may_span(name, keys.groups())) {
            transaction.commands.push_back(std::move(list));
        } else {
            co_await transactions.begin(transaction.names, KeyTransactions::Audited::kYes);
            co_await run(database, std::move(list));
        }
        is_written =
            co_await transactions.commit(std::move(transaction), KeyTransactions::Audited::kYes);
    }
    // Another operation, which removes the group, may have removed it from the list since.
    co_await list_group(database, keys, std::move(group));
}

Task<void> remove(Database& database, const redis::Keys& keys, KeyTransactions& transactions,
                  std::string group) {
    const auto name = keys.group(group);
    Transaction transaction;
    transaction.commands.push_back({"DEL", name});
    transaction.names.push_back(redis::change_of_group(group));
    co_await transactions.commit(std::move(transaction), KeyTransactions::Audited::kYes);
    co_await unlist_group(database, keys, std::move(group));
}

/// Completes an operation that was interrupted after it has removed the record.
Task<void> complete_removal(Database& database, const redis::Keys& keys,
                            KeyTransactions& transactions, std::string group) {
    std::vector<std::string> names{redis::change_of_group(group)};
    co_await transactions.announce_again(keys.group(group), std::move(names));
    co_await unlist_group(database, keys, std::move(group));
}

/// Some groups of the list that have a record, and the last group as `next` if the list has more.
Task<GroupPage> read_listed(Database& database, const redis::Keys& keys, std::string after,
                            std::size_t limit) {
    redis::Command list{"ZRANGEBYLEX", keys.groups(), after.empty() ? "-" : "(" + after, "+",
                        "LIMIT",       "0",           std::to_string(limit + 1)};
    const auto listed = co_await run(database, std::move(list));
    auto names = listed.texts();
    const bool has_more = names.size() > limit;
    names.resize(std::min(names.size(), limit));
    GroupPage page;
    if (names.empty()) {
        co_return page;
    }
    if (has_more) {
        page.next = names.back();
    }
    auto records = co_await records_of_groups(database, keys, std::move(names));
    for (auto& record : records) {
        if (record) {
            page.groups.push_back(std::move(*record));
        }
    }
    co_return page;
}

}  // namespace

KeyRecord record_of(const GroupRecord& group) {
    KeyRecord record;
    record.id = group.id;
    record.plan = group.plan;
    record.limits = group.limits;
    record.billing_day = group.billing_day;
    return record;
}

GroupRecord group_of(const KeyRecord& record) {
    return {.id = record.id,
            .plan = record.plan,
            .limits = record.limits,
            .billing_day = record.billing_day};
}

Task<GroupRecord> read_group(Database& database, const redis::Keys& keys, std::string group) {
    redis::Command read{"HGETALL", keys.group(group)};
    const auto hash = co_await run(database, std::move(read));
    if (hash.elements.empty()) {
        throw unknown_group(group);
    }
    co_return group_in(std::move(group), hash);
}

Task<std::vector<std::optional<GroupRecord>>> records_of_groups(Database& database,
                                                                const redis::Keys& keys,
                                                                std::vector<std::string> groups) {
    std::vector<std::optional<GroupRecord>> records(groups.size());
    if (groups.empty()) {
        co_return records;
    }
    std::vector<redis::Command> reads;
    reads.reserve(groups.size());
    for (const auto& group : groups) {
        reads.push_back({"HGETALL", keys.group(group)});
    }
    const auto hashes = co_await run_all(database, std::move(reads));
    for (std::size_t i = 0; i < groups.size(); ++i) {
        if (!hashes[i].elements.empty()) {
            records[i] = group_in(std::move(groups[i]), hashes[i]);
        }
    }
    co_return records;
}

Task<GroupPage> read_groups(Database& database, const redis::Keys& keys, std::string after,
                            std::size_t limit) {
    auto page = co_await read_listed(database, keys, std::move(after), limit);
    while (page.groups.empty() && page.next) {
        auto last = std::move(*page.next);
        page = co_await read_listed(database, keys, std::move(last), limit);
    }
    co_return page;
}

Task<Durability> change_group(Caller caller, std::string group, KeyChanges changes,
                              std::function<void(const KeyRecord&)> check) {
    require_valid_group(group);
    KeyTransactions transactions(caller.database, caller.keys,
                                 entry_of(caller, "set-group", group, audit_text(changes)));
    const std::function<Task<void>(bool)> change = [&](bool again) -> Task<void> {
        if (again) {
            transactions.begin_again();
        }
        co_await write(caller.database, caller.keys, transactions, group, changes, check);
    };
    co_return co_await execute_durably(caller.database, change);
}

Task<Durability> delete_group(Caller caller, std::string group) {
    KeyTransactions transactions(caller.database, caller.keys,
                                 entry_of(caller, "delete-group", group));
    bool was_there = false;
    const std::function<Task<void>(bool)> remove_again = [&](bool again) -> Task<void> {
        if (!was_there) {
            redis::Command exists{"EXISTS", caller.keys.group(group)};
            const auto is_there = co_await run(caller.database, std::move(exists));
            was_there = is_there.integer != 0;
        }
        if (!was_there) {
            co_await complete_removal(caller.database, caller.keys, transactions, group);
            throw unknown_group(group);
        }
        if (again) {
            transactions.begin_again();
        }
        co_await remove(caller.database, caller.keys, transactions, group);
    };
    co_return co_await execute_durably(caller.database, remove_again);
}

Task<void> require_known_group(Database& database, const redis::Keys& keys, std::string group,
                               CountingTables tables) {
    std::vector<redis::Command> commands;
    commands.push_back({"EXISTS", keys.group(group)});
    for (const auto* table : tables.known) {
        const auto value = ValueDigest::of_group();
        commands.push_back({"EXISTS", keys.quota(group, table->name, value.suffix())});
    }
    const auto replies = co_await run_all(database, std::move(commands));
    if (std::ranges::none_of(replies,
                             [](const redis::Value& exists) { return exists.integer == 1; })) {
        throw unknown_group(group);
    }
}

void write_group(JsonWriter& json, const GroupRecord& group) {
    json.member("id", group.id);
    write_quota_fields(json, record_of(group));
}

}  // namespace tollgate::management
