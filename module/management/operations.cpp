#include "module/management/operations.hpp"

#include <utility>
#include <vector>

#include "module/key/api_key.hpp"
#include "module/key/digest.hpp"
#include "module/management/acknowledgement.hpp"
#include "module/management/balance_rules.hpp"
#include "module/management/ban.hpp"
#include "module/management/usage_reset.hpp"
#include "module/text/duration.hpp"

namespace tollgate::management {

AuditEntry entry_of(const Caller& caller, std::string action, std::string id, std::string detail) {
    return {.actor = caller.actor,
            .action = std::move(action),
            .id = std::move(id),
            .detail = std::move(detail),
            .request = caller.request};
}

Task<Durability> execute_durably(Database& database, KeyOperation& operation,
                                 std::function<Task<void>()> part) {
    const std::function<Task<void>(bool)> execute = [&](bool again) -> Task<void> {
        if (again) {
            operation.begin_again();
        }
        co_await part();
    };
    co_return co_await execute_durably(database, execute);
}

KeyMaking::KeyMaking(const Caller& caller, FirstKey first)
    : database_(caller.database),
      names_(caller.keys),
      id_(first.record.id),
      operation_(
          caller.database, caller.keys,
          entry_of(caller, first.is_imported ? "import" : "issue", id_, audit_text(first.values))),
      how_(std::move(first)) {}

KeyMaking::KeyMaking(const Caller& caller, Successor successor)
    : database_(caller.database),
      names_(caller.keys),
      id_(successor.id),
      operation_(caller.database, caller.keys,
                 entry_of(caller, "rotate", id_, "overlap=" + write_duration(successor.overlap)),
                 successor.condition),
      how_(std::move(successor)) {}

KeyMaking::KeyTraits KeyMaking::traits_of(std::string_view key) {
    return {.digest = hex(sha256(key)), .hint = key_hint(key)};
}

Task<void> KeyMaking::make(NewKeyTraits new_traits) {
    const std::function<Task<void>()> make_new = [&]() -> Task<void> {
        const std::string of_key = co_await prefix();
        traits_ = new_traits(of_key);
        co_await make_once();
    };
    co_await execute_durably(database_, operation_, make_new);
}

Task<Durability> KeyMaking::confirm() {
    const std::function<Task<void>(bool)> confirm = [&](bool again) -> Task<void> {
        const bool is_there = co_await operation_.confirm_if_there(traits_.digest, id_, again);
        if (!is_there) {
            operation_.begin_again();
            co_await make_once();
            co_await operation_.confirm(traits_.digest, id_);
        }
    };
    co_return co_await execute_durably(database_, confirm);
}

/// A key has the prefix of its record; a successor has that of the current key.
Task<std::string> KeyMaking::prefix() {
    if (const auto* const first = std::get_if<FirstKey>(&how_)) {
        co_return first->record.prefix;
    }
    co_return co_await operation_.prefix_of(id_);
}

Task<void> KeyMaking::make_once() {
    if (const auto* const first = std::get_if<FirstKey>(&how_)) {
        co_await require_balance_stays(database_, names_, id_, first->record.group);
        StoredKey key{.digest = traits_.digest,
                      .record = first->record,
                      .created = first->created,
                      .request = first->request,
                      .hint = traits_.hint};
        keys_ = co_await operation_.create(std::move(key), first->revoked);
        co_return;
    }
    const auto& successor = std::get<Successor>(how_);
    if (successor.is_given) {
        keys_ = co_await operation_.rotate_to(id_, traits_.digest, successor.overlap,
                                              successor.request);
        co_return;
    }
    keys_ = co_await operation_.rotate(id_, traits_.digest, successor.overlap, successor.request,
                                       traits_.hint);
}

Task<Durability> change_keys(Caller caller, std::string action, std::string id, KeyChanges changes,
                             std::function<void(const KeyRecord&)> check,
                             AcceptsVersion condition) {
    auto entry = entry_of(caller, std::move(action), id, audit_text(changes));
    entry.tells_before = true;
    const auto group = changes.values.find(redis::record_field::kGroup);
    KeyOperation operation(caller.database, caller.keys, std::move(entry), std::move(condition));
    const auto today = co_await day_of_change(caller.database, changes);
    const std::function<void(KeyRecord&)> change = [&](KeyRecord& record) {
        apply_at(changes, record, today);
        check(record);
    };
    const std::function<Task<void>()> update = [&]() -> Task<void> {
        if (group != changes.values.end()) {
            co_await require_balance_stays(caller.database, caller.keys, id, group->second);
        }
        co_await operation.update(id, change);
    };
    co_return co_await execute_durably(caller.database, operation, update);
}

Task<Durability> revoke_keys(Caller caller, std::string id, AcceptsVersion condition) {
    KeyOperation operation(caller.database, caller.keys, entry_of(caller, "revoke", id),
                           std::move(condition));
    const std::function<Task<void>()> revoke = [&]() -> Task<void> {
        co_await operation.revoke(id);
    };
    co_return co_await execute_durably(caller.database, operation, revoke);
}

Task<Durability> reset_usage_of(Caller caller, UsageOwner owner, CountingTables tables,
                                bool leases_are_recalled) {
    const std::function<Task<void>(bool)> reset = [&](bool again) -> Task<void> {
        if (again || !leases_are_recalled) {
            std::vector<UsageOwner> owners(1, owner);
            co_await recall_leases(caller.database, caller.keys, std::move(owners));
        }
        auto entry =
            entry_of(caller, owner.of == UsageOf::kGroup ? "reset-group" : "reset", owner.id);
        co_await reset_usage(caller.database, caller.keys, std::move(entry), tables, owner.of);
    };
    co_return co_await execute_durably(caller.database, reset);
}

Task<Durability> lift_ban_of(Caller caller, std::string id) {
    const std::function<Task<void>(bool)> lift = [&](bool /*again*/) -> Task<void> {
        auto entry = entry_of(caller, "lift", id);
        co_await lift_ban(caller.database, caller.keys, std::move(entry));
    };
    co_return co_await execute_durably(caller.database, lift);
}

}  // namespace tollgate::management
