#include "module/management/groups.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "module/management/key_transactions.hpp"

namespace tollgate::management {

namespace {

namespace field = redis::record_field;

GroupRecord group_in(std::string group, const redis::Value& hash) {
    auto fields = hash.fields();
    return {.id = std::move(group),
            .plan = std::string(fields[field::kPlan]),
            .limits = std::string(fields[field::kLimits])};
}

OperationError unknown_group(const std::string& group) {
    return {Reason::kUnknownId, "the group \"" + group + "\" has no record"};
}

AuditEntry entry_of(const Caller& caller, std::string action, std::string group,
                    std::string detail = {}) {
    return {.actor = caller.actor,
            .action = std::move(action),
            .id = std::move(group),
            .detail = std::move(detail),
            .request = caller.request};
}

/// Changes the hash of a group if it is as it was read.
Transaction change_of(const redis::Keys& keys, const std::string& group, const redis::Value& hash) {
    Transaction transaction;
    transaction.conditions.push_back(
        {.command = {"HGETALL", keys.group(group)}, .elements = hash.texts()});
    transaction.names.push_back(std::string(redis::kChangeOfGroup).append(group));
    return transaction;
}

std::vector<redis::Command> writing_of(const std::string& name, const KeyRecord& record) {
    std::vector<redis::Command> commands;
    commands.push_back(
        {"HSET", name, std::string(field::kId), record.id, std::string(field::kPlan), record.plan});
    if (record.limits.empty()) {
        commands.push_back({"HDEL", name, std::string(field::kLimits)});
    } else {
        commands.push_back({"HSET", name, std::string(field::kLimits), record.limits});
    }
    return commands;
}

/// The list of groups may be in another slot: it has each group that has a record, and may have
/// more.
Task<void> write(Database& database, const redis::Keys& keys, KeyTransactions& transactions,
                 std::string group, const KeyChanges& changes,
                 const std::function<void(const KeyRecord&)>& check) {
    const auto name = keys.group(group);
    for (bool is_written = false; !is_written;) {
        redis::Command read{"HGETALL", name};
        const auto hash = co_await run(database, std::move(read));
        const auto before = group_in(group, hash);
        KeyRecord record;
        record.id = group;
        record.plan = before.plan;
        record.limits = before.limits;
        apply(changes, record);
        if (record.plan.empty()) {
            refuse("plan: a new group needs a plan");
        }
        check(record);
        redis::Command list{"ZADD", keys.groups(), "0", group};
        co_await run(database, std::move(list));
        auto transaction = change_of(keys, group, hash);
        transaction.commands = writing_of(name, record);
        is_written =
            co_await transactions.commit(std::move(transaction), KeyTransactions::Audited::kYes);
    }
}

Task<void> remove(Database& database, const redis::Keys& keys, KeyTransactions& transactions,
                  std::string group) {
    const auto name = keys.group(group);
    Transaction transaction;
    transaction.commands.push_back({"DEL", name});
    transaction.names.push_back(std::string(redis::kChangeOfGroup).append(group));
    co_await transactions.commit(std::move(transaction), KeyTransactions::Audited::kYes);
    redis::Command unlist{"ZREM", keys.groups(), group};
    co_await run(database, std::move(unlist));
    // Another operation may have stored the record again since.
    redis::Command exists{"EXISTS", name};
    const auto is_there = co_await run(database, std::move(exists));
    if (is_there.integer == 1) {
        redis::Command list{"ZADD", keys.groups(), "0", group};
        co_await run(database, std::move(list));
    }
}

}  // namespace

bool is_field_of_group(const redis::RecordField& field) {
    return field.name == field::kPlan || field.name == field::kLimits;
}

Task<GroupRecord> read_group(Database& database, const redis::Keys& keys, std::string group) {
    redis::Command read{"HGETALL", keys.group(group)};
    const auto hash = co_await run(database, std::move(read));
    if (hash.elements.empty()) {
        throw unknown_group(group);
    }
    co_return group_in(std::move(group), hash);
}

Task<GroupPage> read_groups(Database& database, const redis::Keys& keys, std::string after,
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
    std::vector<redis::Command> reads;
    reads.reserve(names.size());
    for (const auto& name : names) {
        reads.push_back({"HGETALL", keys.group(name)});
    }
    const auto hashes = co_await run_all(database, std::move(reads));
    if (has_more) {
        page.next = names.back();
    }
    for (std::size_t i = 0; i < names.size(); ++i) {
        if (!hashes[i].elements.empty()) {
            page.groups.push_back(group_in(std::move(names[i]), hashes[i]));
        }
    }
    co_return page;
}

Task<Durability> change_group(Caller caller, std::string group, KeyChanges changes,
                              std::function<void(const KeyRecord&)> check) {
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
    co_await read_group(caller.database, caller.keys, group);
    KeyTransactions transactions(caller.database, caller.keys,
                                 entry_of(caller, "delete-group", group));
    const std::function<Task<void>(bool)> remove_again = [&](bool again) -> Task<void> {
        if (again) {
            transactions.begin_again();
        }
        co_await remove(caller.database, caller.keys, transactions, group);
    };
    co_return co_await execute_durably(caller.database, remove_again);
}

void write_group(JsonWriter& json, const GroupRecord& group) {
    json.member("id", group.id);
    json.member_or_null("plan", group.plan);
    json.member_or_null("limits", group.limits);
}

}  // namespace tollgate::management
