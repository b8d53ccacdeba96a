#include "module/management/balance.hpp"

#include <algorithm>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "module/management/acknowledgement.hpp"
#include "module/management/balance_rules.hpp"
#include "module/management/group_index.hpp"
#include "module/management/groups.hpp"
#include "module/management/key_reader.hpp"
#include "module/management/key_transactions.hpp"
#include "module/management/known_id.hpp"
#include "module/management/plan_rules.hpp"
#include "module/management/stored_windows.hpp"
#include "module/plan/value_digest.hpp"
#include "module/text/whole_number.hpp"

namespace tollgate::management {

namespace {

namespace window_part = redis::window_part;

/// Whether the plan of this record has a balance in the table.
bool has_balance(const PlanTable& table, const KeyRecord& record) {
    return has_balance(limits_in(table, record).limits.rates);
}

/// The table whose balance is meant: one in which the record of the owner has a balance, or without
/// a record, one that may have a balance.
const PlanTable& table_of(const Credit& credit, const CountingTables& tables,
                          const std::optional<KeyRecord>& record) {
    std::vector<const PlanTable*> found;
    for (const PlanTable* table : tables.known) {
        const bool counts_owner = table->by_group == (credit.owner.of == UsageOf::kGroup);
        if (counts_owner && may_have_balance(*table) &&
            (credit.table.empty() || credit.table == table->name) &&
            std::ranges::find(found, table->name, &PlanTable::name) == found.end()) {
            found.push_back(table);
        }
    }
    const auto is_own = [&](const PlanTable* table) { return has_balance(*table, *record); };
    if (credit.table.empty() && record && std::ranges::any_of(found, is_own)) {
        std::erase_if(found, std::not_fn(is_own));
    }
    if (found.empty()) {
        refuse(credit.table.empty()
                   ? "table: no plan table has a balance of such an owner"
                   : "table: \"" + credit.table + "\" has no balance of such an owner");
    }
    if (found.size() > 1) {
        std::vector<std::string> names;
        std::ranges::transform(found, std::back_inserter(names), &PlanTable::name);
        refuse("table: name one of " + quoted_list(names));
    }
    return *found.front();
}

/// Where a balance is stored, and what announces its change.
struct StoredAt {
    std::string quota;
    std::string ledger;  ///< see redis::Keys::credits
    std::string change;
};

StoredAt stored_at(const redis::Keys& keys, const OwnerName& owner, const PlanTable& table,
                   UsageOf of) {
    const auto value = value_of(of);
    return {.quota = keys.quota(owner.owner(), table.name, value.suffix()),
            .ledger = keys.credits(owner.owner(), table.name, value.suffix()),
            .change = change_of({owner.id, of})};
}

/// Refuses to add to what is no number: Redis would store the reference and not the units.
void require_numbers(const redis::Value& quota, const StoredAt& at) {
    const auto fields = quota.fields();
    for (const auto part : {window_part::kLeft, window_part::kCredited}) {
        const auto name = redis::balance_field(part);
        if (fields.contains(name) && !parse_balance(fields[name])) {
            refuse("Redis has no whole number in the field \"" + name + "\" of \"" + at.quota +
                   "\": set it right with HSET");
        }
    }
}

/// The fields of the balance, and the units of the reference; 0 if it was not credited.
struct BalanceRead {
    StoredBalance balance;
    std::int64_t of_reference = 0;
};

Task<BalanceRead> read_balance_of(Database& database, const StoredAt& at,
                                  const std::string& reference) {
    Transaction read;
    read.commands = {{"HMGET", at.ledger, reference}, {"HGETALL", at.quota}};
    const auto replies = co_await execute(database, std::move(read));
    require_numbers(replies.value()[1], at);
    const auto units = parse_whole_number(replies.value()[0].elements.at(0).text, 1, kMostBalance);
    co_return BalanceRead{.balance = read_balance(replies.value()[1]).value_or(StoredBalance{}),
                          .of_reference = units.value_or(0)};
}

/// The commands that add the units. The hash of the quota has no end from now on. A user who may
/// not run HINCRBY changes nothing: the reference is stored by the same command as the units.
std::vector<redis::Command> crediting(const StoredAt& at, const Credit& credit) {
    const auto units = std::to_string(credit.units);
    const auto last = redis::balance_field(window_part::kLastCredit);
    return {{"HINCRBY", at.ledger, credit.reference, units},
            {"HINCRBY", at.quota, redis::balance_field(window_part::kLeft), units},
            {"HINCRBY", at.quota, redis::balance_field(window_part::kCredited), units},
            {"HDEL", at.quota, last},
            {"HINCRBY", at.quota, last, units},
            {"PERSIST", at.quota}};
}

/// Returns whether the reference was credited before.
Task<bool> add_credit(Database& database, KeyTransactions& transactions, const StoredAt& at,
                      const Credit& credit) {
    constexpr int kMostAttempts = 100;
    for (int attempts = 0; attempts < kMostAttempts; ++attempts) {
        const auto read = co_await read_balance_of(database, at, credit.reference);
        if (read.of_reference == credit.units) {
            // A failover, or an interruption, may have left the nodes without the announcement.
            std::vector<std::string> names{at.change};
            co_await transactions.announce_again(at.quota, std::move(names));
            co_return true;
        }
        if (read.of_reference != 0) {
            throw OperationError(Reason::kReferenceReused,
                                 "reference: \"" + credit.reference + "\" was credited with " +
                                     std::to_string(read.of_reference) + " units");
        }
        if (read.balance.left > kMostBalance - credit.units) {
            refuse("units: a balance has at most " + std::to_string(kMostBalance) + " units");
        }
        Transaction add;
        add.conditions.push_back(
            {.command = {"HMGET", at.ledger, credit.reference}, .elements = {""}});
        add.commands = crediting(at, credit);
        add.names = {at.change};
        const bool is_added =
            co_await transactions.commit(std::move(add), KeyTransactions::Audited::kYes);
        if (is_added) {
            co_return false;
        }
    }
    throw concurrent_change(credit.owner.id);
}

Task<void> require_known_owner(const Caller& caller, const Credit& credit,
                               const CountingTables& tables) {
    if (credit.owner.of == UsageOf::kGroup) {
        co_await require_known_group(caller.database, caller.keys, credit.owner.id, tables);
    } else if (!credit.may_be_subject) {
        co_await require_known_id(caller.database, caller.keys, credit.owner.id, tables);
    }
}

/// The record of an id, or what a group has of one; nullopt if there is none.
Task<std::optional<KeyRecord>> record_of(const Caller& caller, UsageOwner owner) {
    std::vector<std::string> names{owner.id};
    if (owner.of == UsageOf::kGroup) {
        const auto groups =
            co_await records_of_groups(caller.database, caller.keys, std::move(names));
        co_return groups.front() ? std::optional(record_of(*groups.front())) : std::nullopt;
    }
    KeyReader reader(caller.database, caller.keys);
    const auto keys = co_await reader.keys_of(std::move(names));
    co_return keys.front().keys.empty() ? std::nullopt
                                        : std::optional(keys.front().keys.front().record);
}

}  // namespace

void require_valid_reference(const std::string& reference) {
    constexpr std::size_t kLongest = 128;
    const bool is_printable =
        std::ranges::all_of(reference, [](char c) { return c > ' ' && c <= '~'; });
    if (reference.empty() || reference.size() > kLongest || !is_printable) {
        refuse("reference: use 1 to 128 printable characters without spaces");
    }
}

Task<Credited> credit_balance(Caller caller, Credit credit, CountingTables tables) {
    require_valid_reference(credit.reference);
    if (credit.units < 1 || credit.units > kMostBalance) {
        refuse("units: use a number from 1 to " + std::to_string(kMostBalance));
    }
    const bool is_group = credit.owner.of == UsageOf::kGroup;
    std::optional<StoredAt> at;
    std::optional<KeyTransactions> transactions;
    Credited credited;
    const std::function<Task<void>(bool)> add = [&](bool again) -> Task<void> {
        co_await require_known_owner(caller, credit, tables);
        const auto record = co_await record_of(caller, credit.owner);
        const PlanTable& table = table_of(credit, tables, record);
        OwnerName owner{.id = credit.owner.id};
        if (!is_group) {
            owner = co_await owner_of(caller.database, caller.keys, credit.owner.id);
        }
        at = stored_at(caller.keys, owner, table, credit.owner.of);
        credited.table = table.name;
        credited.unit = table.unit;
        if (transactions) {
            transactions->begin_again();
        } else {
            transactions.emplace(
                caller.database, caller.keys,
                entry_of(caller, is_group ? "credit-group" : "credit", credit.owner.id,
                         "units=" + std::to_string(credit.units) +
                             " reference=" + credit.reference + " table=" + table.name));
        }
        const bool is_repeated = co_await add_credit(caller.database, *transactions, *at, credit);
        credited.is_repeated = again ? credited.is_repeated : is_repeated;
    };
    credited.durability = co_await execute_durably(caller.database, add);
    const auto read = co_await read_balance_of(caller.database, *at, credit.reference);
    credited.credited = read.balance.credited;
    credited.left = read.balance.left;
    co_return credited;
}

Task<std::vector<LeftBalance>> read_balances(Database& database, const redis::Keys& keys,
                                             std::vector<std::string> owners, UsageOf of,
                                             CountingTables tables) {
    const bool are_groups = of == UsageOf::kGroup;
    std::erase_if(tables.known, [&](const PlanTable* table) {
        return table->by_group != are_groups || !may_have_balance(*table);
    });
    std::vector<OwnerName> names;
    if (are_groups) {
        std::ranges::transform(owners, std::back_inserter(names),
                               [](const std::string& group) { return OwnerName{.id = group}; });
    } else {
        names = co_await owners_of(database, keys, std::move(owners));
    }
    std::vector<redis::Command> reads;
    for (const auto& name : names) {
        for (const PlanTable* table : tables.known) {
            reads.push_back({"HGETALL", stored_at(keys, name, *table, of).quota});
        }
    }
    const auto hashes = co_await run_all(database, std::move(reads));
    std::vector<LeftBalance> found;
    auto hash = hashes.begin();
    for (const auto& name : names) {
        for (const PlanTable* table : tables.known) {
            const auto balance = read_balance(*hash++);
            if (balance && balance->left > 0) {
                found.push_back({.owner = name.id, .table = table->name, .left = balance->left});
            }
        }
    }
    co_return found;
}

void write_credited(JsonWriter& json, const Credited& credited) {
    json.member("table", credited.table);
    json.member("unit", credited.unit);
    json.member("credited", credited.credited);
    json.member("left", credited.left);
    json.member("repeated", credited.is_repeated);
}

}  // namespace tollgate::management
