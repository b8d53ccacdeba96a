#include "module/management/declared_key.hpp"

#include <algorithm>

#include "module/management/operation_error.hpp"
#include "module/text/parse_error.hpp"

namespace tollgate::management {

namespace {

std::optional<Meta> meta_of(const KeyRecord& record) {
    try {
        return record.meta.empty() ? Meta{} : parse_meta(record.meta);
    } catch (const ParseError&) {
        return std::nullopt;
    }
}

/// The values of `declared` that `stored` lacks or has otherwise.
KeyChanges changes_to(const KeyRecord& declared, const KeyRecord& stored) {
    KeyChanges changes;
    for (const auto& field : redis::record_fields()) {
        if (!field.is_settable ||
            redis::shown_text(field, declared) == redis::shown_text(field, stored)) {
            continue;
        }
        if (field.form != redis::FieldForm::kMeta) {
            changes.values.emplace(field.name, redis::stored_text(field, declared));
            continue;
        }
        changes.meta.emplace(MetaChanges{.is_cleared = true});
        for (auto& [name, value] : meta_of(declared).value_or(Meta{})) {
            changes.meta->members.emplace(name, value);
        }
    }
    return changes;
}

/// The key of a declared id that is not retiring.
const StoredKey& current_of(const KeysOfId& keys) {
    return *std::ranges::find_if(keys.keys,
                                 [](const StoredKey& key) { return !key.record.retiring; });
}

std::optional<Difference> unless_empty(Difference difference) {
    const bool is_empty = difference.changes.empty() && difference.digest.empty();
    return is_empty ? std::nullopt : std::optional(std::move(difference));
}

}  // namespace

std::string owner_in(const KeyRecord& record) {
    const auto meta = meta_of(record).value_or(Meta{});
    const auto owner = meta.find(kOwnerMember);
    return owner == meta.end() ? "" : meta_text(owner->second);
}

void set_owner(KeyRecord& record, const std::string& owner) {
    const auto present = owner_in(record);
    if (!present.empty() && present != owner) {
        refuse("meta: the owner is \"" + present + "\"");
    }
    KeyChanges changes;
    changes.meta.emplace();
    changes.meta->members.emplace(kOwnerMember, owner);
    apply(changes, record);
}

std::optional<Difference> difference_of(const DeclaredId& declared, const KeysOfId& stored) {
    StoredKey wanted = current_of(declared.keys);
    const StoredKey& current = stored.keys.front();
    if (!declared.has_state) {
        wanted.record.active = current.record.active;
    }
    const auto owner = owner_in(current.record);
    if (!owner.empty() && owner != owner_in(wanted.record)) {
        throw OperationError(Reason::kIdExists,
                             "the id \"" + declared.keys.id + "\" belongs to \"" + owner + "\"");
    }
    return unless_empty({.changes = changes_to(wanted.record, current.record),
                         .digest = wanted.digest == current.digest ? "" : wanted.digest,
                         .replaced = replaced_text(current.record, wanted.record)});
}

std::optional<Difference> difference_of(const GroupRecord& declared, const GroupRecord& stored) {
    const KeyRecord wanted = record_of(declared);
    const KeyRecord current = record_of(stored);
    return unless_empty({.changes = changes_to(wanted, current),
                         .digest = {},
                         .replaced = replaced_text(current, wanted)});
}

}  // namespace tollgate::management
