#include "module/management/usage_reset.hpp"

#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "module/management/group_index.hpp"
#include "module/management/key_transactions.hpp"
#include "module/management/stored_windows.hpp"
#include "module/redis/protocol/recall.hpp"
#include "module/redis/protocol/schema.hpp"

namespace tollgate::management {

namespace {

/// Nodes return leases some ten milliseconds after they are asked for them.
constexpr std::chrono::milliseconds kRecallTime{300};

/// The commands that move the last day of a table to the history, with the units that the fields of
/// its quota have. None if it has no day.
std::vector<redis::Command> moving_of_day(const redis::Keys& keys, const redis::Owner& id,
                                          const PlanTable& table, const redis::Value& quota,
                                          const redis::Value& lifetime, Instant now) {
    const auto fields = quota.fields();
    const auto day = redis::number_or_zero(fields[field_of_day(redis::window_part::kNumber)]);
    const auto units = redis::units_or_zero(fields[field_of_day(redis::window_part::kCount)]);
    if (!table.has_history() || day <= 0 || units <= 0) {
        return {};
    }
    const auto history = keys.history(id);
    const auto field = joined(redis::history_field(table.name, std::to_string(day)));
    std::vector<redis::Command> commands{{"HINCRBY", history, field, std::to_string(units)}};
    const auto end = Instant(std::chrono::days(day + 1) + table.history);
    if (end > now + std::chrono::milliseconds(lifetime.integer)) {
        commands.push_back({"PEXPIREAT", history, std::to_string(end.time_since_epoch().count())});
    }
    return commands;
}

/// The command that removes the counts of windows and buckets from the hash of a quota. A balance
/// remains: it is what the owner has paid for.
redis::Command removing(const std::string& name, const redis::Value& quota) {
    redis::Command fields{"HDEL", name};
    if (!read_balance(quota)) {
        return {"DEL", name};
    }
    for (const auto& [field, text] : quota.fields()) {
        if (!field.starts_with(redis::balance_field(""))) {
            fields.emplace_back(field);
        }
    }
    return fields.size() > 2 ? fields : redis::Command{"PERSIST", name};
}

/// The counters of an id or a group.
struct Counters {
    OwnerName owner;     ///< of a group: the group as an id without a group
    ValueDigest value;   ///< see value_of
    std::string change;  ///< announces the change
};

Task<void> reset_table(Database& database, const redis::Keys& keys, KeyTransactions& transactions,
                       const Counters& counters, const PlanTable& table) {
    constexpr int kMostAttempts = 100;
    const redis::Owner owner = counters.owner.owner();
    const auto name = keys.quota(owner, table.name, counters.value.suffix());
    for (int attempts = 0; attempts < kMostAttempts; ++attempts) {
        Transaction read;
        read.commands = {{"HGETALL", name}, {"PTTL", keys.history(owner)}, {"TIME"}};
        const auto replies = co_await execute(database, std::move(read));
        const auto& quota = replies.value()[0];
        Transaction reset;
        reset.conditions.push_back({.command = {"HGETALL", name}, .elements = quota.texts()});
        reset.commands = moving_of_day(keys, owner, table, quota, replies.value()[1],
                                       time_of_reply(replies.value()[2]));
        reset.commands.push_back(removing(name, quota));
        reset.names = {counters.change};
        const bool is_reset =
            co_await transactions.commit(std::move(reset), KeyTransactions::Audited::kYes);
        if (is_reset) {
            co_return;
        }
    }
    throw OperationError(Reason::kConcurrentChange, "the counts of \"" + counters.owner.id +
                                                        "\" change too fast: repeat the request");
}

}  // namespace

ValueDigest value_of(UsageOf of) {
    return of == UsageOf::kGroup ? ValueDigest::of_group() : ValueDigest();
}

std::string change_of(const UsageOwner& owner) {
    return owner.of == UsageOf::kGroup ? redis::change_of_group(owner.id) : owner.id;
}

Task<void> recall_leases(Database& database, const redis::Keys& keys,
                         std::vector<UsageOwner> owners) {
    std::vector<redis::Command> commands;
    commands.reserve(owners.size());
    for (const auto& owner : owners) {
        commands.push_back({"PUBLISH", keys.events(),
                            redis::Recall{.id = owner.id, .value = value_of(owner.of)}.text()});
    }
    co_await run_all(database, std::move(commands));
    co_await wait(database, kRecallTime);
}

Task<void> reset_usage(Database& database, const redis::Keys& keys, AuditEntry entry,
                       CountingTables tables, UsageOf of) {
    const bool is_group = of == UsageOf::kGroup;
    Counters counters{
        .owner = {.id = entry.id}, .value = value_of(of), .change = change_of({entry.id, of})};
    KeyTransactions transactions(database, keys, std::move(entry));
    if (!is_group) {
        counters.owner = co_await owner_of(database, keys, counters.change);
    }
    for (const PlanTable* table : tables.known) {
        if (table->by_group == is_group) {
            co_await reset_table(database, keys, transactions, counters, *table);
        }
    }
}

}  // namespace tollgate::management
