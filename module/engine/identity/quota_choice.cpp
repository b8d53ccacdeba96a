#include "module/engine/identity/quota_choice.hpp"

#include <algorithm>
#include <span>
#include <string>
#include <vector>

#include "module/engine/identity/identity_parts.hpp"
#include "module/text/name_hash.hpp"

namespace tollgate::engine {

namespace {

/// The values of a request.
class RequestValues {
  public:
    /// Asks for those in the tables at these positions. Throws std::bad_alloc.
    RequestValues(std::span<const std::size_t> tables, ValueSource& source) {
        // One table needs no allocation.
        if (tables.size() == 1) {
            text_ = source.value(tables.front());
            return;
        }
        for (const std::size_t table : tables) {
            const std::string_view value = several_.emplace_back(source.value(table));
            joined_.append(std::to_string(value.size())).append(":").append(value);
        }
        text_ = joined_;
    }

    /// Stands for all values: others have another one.
    std::string_view text() const { return text_; }
    /// The values in these tables, which are those of the constructor.
    std::vector<TableValue> in(std::span<const PlanTable* const> tables,
                               std::span<const std::size_t> positions) const {
        std::vector<TableValue> values;
        for (std::size_t i = 0; i < positions.size(); ++i) {
            values.push_back({name_hash(tables[positions[i]]->name),
                              positions.size() == 1 ? text_ : several_[i]});
        }
        return values;
    }

  private:
    std::vector<std::string_view> several_;
    std::string joined_;
    std::string_view text_;
};

}  // namespace

QuotaChoice::Chosen QuotaChoice::choose(const std::shared_ptr<const KeyRecord>& record,
                                        ValueSource& values) const {
    KnownKey* const known = key_.known();
    Chosen chosen;
    AcquireRequest& request = chosen.request;
    request.id = record->id;
    request.group = record->group;
    request.id_hash = key_.id();
    if (known != nullptr) {
        chosen.kept = &known->quota;
        request.api_key = known->quota.api_key;
        request.place = known->quota.place;
    } else {
        request.api_key = key_.key().hash();
    }
    if (group_.record() != nullptr) {
        choose_with_group(*record, request);
    }
    if (!tables_.counting_values().empty()) {
        choose_by_values(record, values, chosen);
    } else if (group_.record() == nullptr) {
        request.quotas = quotas_of_key(*record);
    }
    return chosen;
}

/// The quotas of a key that has no group, or whose group is not needed, without the quotas that
/// are counted by values.
std::shared_ptr<const Quotas> QuotaChoice::quotas_of_key(const KeyRecord& record) const {
    const KnownKey* known = key_.known();
    return known != nullptr ? known->quota.quotas : tables_.quotas_of(record);
}

/// A known key keeps the quotas of both, as long as both records are current.
void QuotaChoice::choose_with_group(const KeyRecord& record, AcquireRequest& request) const {
    KnownKey* const known = key_.known();
    request.group_hash = group_.id();
    request.group_key = group_.key().hash();
    if (known != nullptr && known->group == group_.record()) {
        request.quotas = known->quota.quotas;
        return;
    }
    request.quotas = tables_.quotas_of(record, group_.record().get());
    if (known != nullptr && request.quotas) {
        parts_.slices.end(known->quota);
        known->quota.quotas = request.quotas;
        known->quota.refusal = {};
        known->quota.group_hash = request.group_hash;
        known->quota.group_key = request.group_key;
        known->checked = std::min(known->checked, group_.checked());
        known->group = group_.record();
        known->group_key = group_.key();
    }
}

/// A known key with the values of a known request has an entry of its own, with a slice and a
/// refusal of its own.
void QuotaChoice::choose_by_values(const std::shared_ptr<const KeyRecord>& record,
                                   ValueSource& source, Chosen& chosen) const {
    const auto positions = tables_.counting_values();
    const RequestValues values(positions, source);
    AcquireRequest& request = chosen.request;
    const KnownKey* const key = key_.known();
    if (key != nullptr) {
        KnownKey* const known = parts_.known_values.find(*key, values.text());
        if (known != nullptr && known->record == record && known->group == key->group) {
            chosen.kept = &known->quota;
            request.quotas = known->quota.quotas;
            request.place = known->quota.place;
            return;
        }
    }
    if (group_.record() == nullptr) {
        request.quotas = quotas_of_key(*record);
    }
    if (!request.quotas) {
        return;
    }
    request.quotas = std::make_shared<const Quotas>(
        with_values(*request.quotas, values.in(tables_.tables(), positions)));
    if (key != nullptr) {
        const TokenHash token = parts_.known_values.token_of(*key, values.text());
        KnownKey& known = parts_.known_values.place_for(token, tables_);
        parts_.slices.end(known.quota);
        known = {.token = token,
                 .tables = &tables_,
                 .key = key->key,
                 .record = record,
                 .statistics = key->statistics,
                 .checked = key->checked,
                 .touched = key->touched,
                 .used = key->used,
                 .group = key->group,
                 .group_key = key->group_key,
                 .quota = {.record = record.get(),
                           .quotas = request.quotas,
                           .api_key = key->quota.api_key,
                           .group_key = key->quota.group_key,
                           .id_hash = key->quota.id_hash,
                           .group_hash = key->quota.group_hash}};
        chosen.kept = &known.quota;
    }
}

}  // namespace tollgate::engine
