#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "module/management/balance.hpp"
#include "module/management/groups.hpp"
#include "module/management/operations.hpp"
#include "t/unit/management/issue.hpp"
#include "t/unit/management/memory_database.hpp"
#include "t/unit/management/operation_automaton.hpp"

namespace tollgate::management::orders {

// The operations whose orders are searched, see OrderSearch, and the data that they begin with. All
// of them concern the id `acme`, or the group `team`.

using namespace std::chrono_literals;
using Operation = OperationAutomaton::Operation;

enum class Kind : std::uint8_t {
    kIssue,
    kImport,
    kRotate,
    kReplace,    ///< a rotation without overlap
    kRotateTo,   ///< a rotation to a digest that is given, always the same
    kReplaceTo,  ///< the same without overlap
    kRename,
    kMove,  ///< to another group
    kDisable,
    kDisableIf,  ///< if the id exists
    kEnable,
    kRevoke,
    kSetGroup,
    kDeleteGroup,
    kReset,
    kBatch,       ///< disables the id, then enables it
    kCredit,      ///< always the same reference
    kCreditMore,  ///< a reference of its own
};

/// The name of each kind, in the order of the kinds.
inline constexpr std::array<std::string_view, 18> kNames{
    "issue",    "import",      "rotate",  "replace",   "rotateTo", "replaceTo",
    "rename",   "move",        "disable", "disableIf", "enable",   "revoke",
    "setGroup", "deleteGroup", "reset",   "batch",     "credit",   "creditMore"};

inline std::string name_of(Kind kind) {
    return std::string(kNames.at(static_cast<std::size_t>(kind)));
}

enum class Start : std::uint8_t {
    kNothing,
    kOneKey,
    kOverlap,
    kRetiring,  ///< a retiring key without a successor
    kDisabled,
    kRevoked
};

/// The name of each start, in the order of the starts.
inline constexpr std::array<std::string_view, 6> kStartNames{"Nothing",  "OneKey",   "Overlap",
                                                             "Retiring", "Disabled", "Revoked"};

inline const std::string kId = "acme";

inline const redis::Keys& all_keys() {
    static const redis::Keys keys = MemoryDatabase::keys();
    return keys;
}

/// The plan table, in which an id has a balance.
inline const PlanTable& table_of_id() {
    static const PlanTable table = [] {
        PlanTable made;
        made.name = "api";
        made.plans.push_back({.name = "free", .rates = {Rate::balance()}});
        return made;
    }();
    return table;
}

inline Task<void> make_key(Database& database, FirstKey first, std::string digest) {
    const Caller caller{database, all_keys(), "a"};
    KeyMaking making(caller, std::move(first));
    const KeyMaking::NewKeyTraits traits = [&](const std::string& /*prefix*/) {
        return KeyMaking::KeyTraits{.digest = digest};
    };
    co_await making.make(traits);
    co_await making.confirm();
}

inline Task<void> rotate(Database& database, std::chrono::seconds overlap, std::string digest,
                         bool is_given = false) {
    const Caller caller{database, all_keys(), "a"};
    Successor successor{.id = kId, .overlap = overlap, .is_given = is_given};
    KeyMaking making(caller, std::move(successor));
    const KeyMaking::NewKeyTraits traits = [&](const std::string& /*prefix*/) {
        return KeyMaking::KeyTraits{.digest = digest};
    };
    co_await making.make(traits);
    co_await making.confirm();
}

inline Task<void> change(Database& database, std::string field, std::string value,
                         AcceptsVersion condition = {}) {
    Caller caller{database, all_keys(), "a"};
    KeyChanges changes;
    const auto fields = redis::record_fields();
    const auto described = std::ranges::find(fields, field, &redis::RecordField::name);
    changes.values.emplace(described->name, std::move(value));
    const std::function<void(const KeyRecord&)> accept = [](const KeyRecord&) {};
    std::string action = "set";
    std::string id = kId;
    co_await change_keys(std::move(caller), std::move(action), std::move(id), std::move(changes),
                         accept, std::move(condition));
}

inline Task<void> change_state(Database& database, std::string state,
                               AcceptsVersion condition = {}) {
    std::string field = "state";
    co_await change(database, std::move(field), std::move(state), std::move(condition));
}

/// Whether an id has a key.
inline bool exists(const std::optional<std::string>& version) {
    return version.has_value();
}

inline Task<void> disable_and_enable(Database& database) {
    std::string disabled = "disabled";
    co_await change_state(database, std::move(disabled));
    std::string active = "active";
    co_await change_state(database, std::move(active));
}

inline Task<void> revoke(Database& database) {
    Caller caller{database, all_keys(), "a"};
    std::string id = kId;
    co_await revoke_keys(std::move(caller), std::move(id));
}

inline Task<void> set_group(Database& database) {
    Caller caller{database, all_keys(), "a"};
    KeyChanges changes{.values = {{"plan", "pro"}}};
    const std::function<void(const KeyRecord&)> accept = [](const KeyRecord&) {};
    std::string group = "team";
    co_await change_group(std::move(caller), std::move(group), std::move(changes), accept);
}

inline Task<void> remove_group(Database& database) {
    Caller caller{database, all_keys(), "a"};
    std::string group = "team";
    co_await delete_group(std::move(caller), std::move(group));
}

inline Task<void> reset(Database& database) {
    Caller caller{database, all_keys(), "a"};
    UsageOwner owner{.id = kId};
    CountingTables tables;
    tables.known.push_back(&table_of_id());
    co_await reset_usage_of(std::move(caller), std::move(owner), std::move(tables));
}

inline constexpr std::int64_t kCredited = 5;

inline Task<void> credit(Database& database, std::string reference) {
    Caller caller{database, all_keys(), "a"};
    Credit credit{.owner = {.id = kId}, .units = kCredited, .reference = std::move(reference)};
    CountingTables tables;
    tables.known.push_back(&table_of_id());
    co_await credit_balance(std::move(caller), std::move(credit), std::move(tables));
}

inline FirstKey first_key(bool is_imported) {
    FirstKey first{
        .record = {.id = kId, .name = "new", .plan = "free", .limits = {}, .expires = {}},
        .created = std::chrono::sys_seconds(1000s),
        .values = {},
        .is_imported = is_imported};
    return first;
}

/// An operation. Those of one order have different digests and values, except a digest that is
/// given.
inline Operation operation_of(Kind kind, std::size_t number) {
    const std::string digest = "new" + std::to_string(number);
    switch (kind) {
        case Kind::kIssue:
            return [digest](Database& d) { return make_key(d, first_key(false), digest); };
        case Kind::kImport:
            // The digest of the key that the id has in the beginning.
            return [](Database& d) { return make_key(d, first_key(true), "first"); };
        case Kind::kRotate:
            return [digest](Database& d) { return rotate(d, 1h, digest); };
        case Kind::kReplace:
            return [digest](Database& d) { return rotate(d, 0s, digest); };
        case Kind::kRotateTo:
            return [](Database& d) { return rotate(d, 1h, "given", true); };
        case Kind::kReplaceTo:
            return [](Database& d) { return rotate(d, 0s, "given", true); };
        case Kind::kRename:
            return [digest](Database& d) { return change(d, "name", digest); };
        case Kind::kMove:
            return [digest](Database& d) { return change(d, "group", digest); };
        case Kind::kDisable:
            return [](Database& d) { return change_state(d, "disabled"); };
        case Kind::kDisableIf:
            return [](Database& d) { return change_state(d, "disabled", exists); };
        case Kind::kEnable:
            return [](Database& d) { return change_state(d, "active"); };
        case Kind::kRevoke:
            return [](Database& d) { return revoke(d); };
        case Kind::kSetGroup:
            return [](Database& d) { return set_group(d); };
        case Kind::kDeleteGroup:
            return [](Database& d) { return remove_group(d); };
        case Kind::kReset:
            return [](Database& d) { return reset(d); };
        case Kind::kBatch:
            return [](Database& d) { return disable_and_enable(d); };
        case Kind::kCredit:
            return [](Database& d) { return credit(d, "order"); };
        case Kind::kCreditMore:
            return [digest](Database& d) { return credit(d, digest); };
    }
    return {};
}

inline MemoryDatabase::Data data_of(Start start) {
    MemoryDatabase database;
    if (start != Start::kNothing) {
        issue(database, kId, "first");
    }
    if (start == Start::kRetiring) {
        database.data.expiring.insert(all_keys().key("first"));
    } else if (start == Start::kOverlap) {
        run_to_end(rotate(database, 1h, "second"));
    } else if (start == Start::kDisabled) {
        run_to_end(change_state(database, "disabled"));
    } else if (start == Start::kRevoked) {
        run_to_end(revoke(database));
    }
    return database.data;
}

}  // namespace tollgate::management::orders
