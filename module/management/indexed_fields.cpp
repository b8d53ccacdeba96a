#include "module/management/indexed_fields.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

#include "module/key/digest.hpp"
#include "module/key/key_record.hpp"
#include "module/key/meta.hpp"
#include "module/text/case_folding.hpp"
#include "module/text/parse_error.hpp"
#include "module/text/whole_number.hpp"
#include "module/text/words.hpp"

namespace tollgate::management {

namespace {

/// Names and scopes have no control characters, and neither have the texts of a meta.
constexpr char kAfterValue = '\n';
constexpr char kAfterField = ':';
constexpr char kAfterTime = ':';
/// Times have so many digits, so that they are in the order of their texts.
constexpr std::size_t kDigitsOfTime = 12;
constexpr std::int64_t kLatestTime = 999'999'999'999;

/// A list finds names by their begin: the index has them as a whole.
std::vector<std::string> names_in(const KeyRecord& record) {
    return record.name.empty() ? std::vector<std::string>{}
                               : std::vector<std::string>{fold_case(record.name)};
}

std::vector<std::string> members_in(const KeyRecord& record) {
    std::vector<std::string> members;
    try {
        const auto meta = record.meta.empty() ? Meta{} : parse_meta(record.meta);
        std::ranges::transform(meta, std::back_inserter(members), [](const auto& member) {
            return value_in_index(member.first + "=" + meta_text(member.second));
        });
    } catch (const ParseError&) {
        members.clear();  // another program has stored it
    }
    return members;
}

std::vector<std::string> groups_in(const KeyRecord& record) {
    return record.group.empty() ? std::vector<std::string>{}
                                : std::vector<std::string>{value_in_index(record.group)};
}

std::vector<std::string> scopes_in(const KeyRecord& record) {
    return word_set(record.scopes, value_in_index);
}

/// The first one is that of names. A member of the meta usually says most: it may be the number of
/// a contract.
constexpr std::array kFields{
    IndexedField{"name", names_in, &KeyFilter::name, IndexedField::Order::kId},
    IndexedField{"meta", members_in, &KeyFilter::meta, IndexedField::Order::kCreation},
    IndexedField{"group", groups_in, &KeyFilter::group, IndexedField::Order::kCreation},
    IndexedField{"scope", scopes_in, &KeyFilter::scope, IndexedField::Order::kCreation}};

void sort_each_once(std::vector<std::string>& entries) {
    std::ranges::sort(entries);
    entries.erase(std::unique(entries.begin(), entries.end()), entries.end());
}

/// Whether a record has the value that the filter wants of a field, if it wants one. The name is
/// not looked at.
bool matches_field(const KeyFilter& filter, const IndexedField& field, const KeyRecord& record) {
    const auto& wanted = filter.*field.wanted;
    return !wanted || &field == &field_of_names() ||
           has_value(field, record, value_in_index(*wanted));
}

}  // namespace

std::span<const IndexedField> indexed_fields() {
    return kFields;
}

const IndexedField& field_of_names() {
    return kFields.front();
}

bool has_value(const IndexedField& field, const KeyRecord& record, std::string_view value) {
    const auto values = field.values(record);
    return std::ranges::find(values, value) != values.end();
}

bool matches(const KeyFilter& filter, const KeysOfId& keys, std::chrono::sys_seconds now) {
    static const KeyRecord kNone;
    const KeyRecord& record = keys.keys.empty() ? kNone : keys.keys.front().record;
    return (!filter.plan || record.plan == *filter.plan) &&
           (!filter.state || state_of(keys, now) == *filter.state) &&
           (!filter.expires_before ||
            (record.expires && *record.expires < *filter.expires_before)) &&
           (!filter.created_from ||
            (!keys.keys.empty() && keys.keys.front().issue_time() >= *filter.created_from)) &&
           std::ranges::all_of(indexed_fields(), [&](const IndexedField& field) {
               return matches_field(filter, field, record);
           });
}

std::string value_in_index(std::string_view value) {
    constexpr std::size_t kLongest = 64;
    constexpr std::size_t kHashDigits = 32;
    if (value.size() <= kLongest) {
        return std::string(value);
    }
    return std::string("#").append(hex(sha256(value)).substr(0, kHashDigits));
}

std::string begin_of_entries(const IndexedField& field) {
    return std::string(field.name) + kAfterField;
}

std::string begin_of_entries(const IndexedField& field, std::string_view value) {
    return begin_of_entries(field).append(value) + kAfterValue;
}

std::vector<std::string> entries_of(const StoredKey& key) {
    const auto place =
        end_of_entry({.created = static_cast<double>(key.issue_time().time_since_epoch().count()),
                      .id = key.record.id});
    std::vector<std::string> entries;
    for (const auto& field : kFields) {
        const auto& end = field.order == IndexedField::Order::kId ? key.record.id : place;
        for (const auto& value : field.values(key.record)) {
            entries.push_back(begin_of_entries(field, value).append(end));
        }
    }
    sort_each_once(entries);
    return entries;
}

std::vector<std::string> entries_of(const std::vector<StoredKey>& keys) {
    std::vector<std::string> entries;
    for (const auto& key : keys) {
        std::ranges::move(entries_of(key), std::back_inserter(entries));
    }
    sort_each_once(entries);
    return entries;
}

std::string_view id_of_entry(std::string_view entry) {
    const auto end = entry.rfind(kAfterValue);
    if (end == std::string_view::npos) {
        return {};
    }
    auto id = entry.substr(end + 1);
    const auto time = id.find(kAfterTime);
    id.remove_prefix(time == std::string_view::npos ? 0 : time + 1);
    return is_valid_key_id(id) ? id : std::string_view();
}

std::string end_of_entry(const ListCursor& place) {
    const auto created = std::clamp(place.created, 0.0, static_cast<double>(kLatestTime));
    const auto digits = std::to_string(static_cast<std::int64_t>(created));
    return std::string(kDigitsOfTime - digits.size(), '0').append(digits) + kAfterTime + place.id;
}

std::optional<ListCursor> place_of_entry(std::string_view entry) {
    const auto id = id_of_entry(entry);
    const auto end = entry.substr(entry.rfind(kAfterValue) + 1);  // the whole text without one
    const auto created = parse_whole_number(end.substr(0, kDigitsOfTime), 0, kLatestTime);
    if (id.empty() || !created || end.size() != kDigitsOfTime + 1 + id.size()) {
        return std::nullopt;
    }
    return ListCursor{.created = static_cast<double>(*created), .id = std::string(id)};
}

IndexChange index_change(const StoredKey& before, const StoredKey& after) {
    const auto old_entries = entries_of(before);
    const auto new_entries = entries_of(after);
    IndexChange change;
    std::ranges::set_difference(new_entries, old_entries, std::back_inserter(change.added));
    std::ranges::set_difference(old_entries, new_entries, std::back_inserter(change.removed));
    return change;
}

std::string complete_entry() {
    std::string entry = "complete";
    for (const auto& field : kFields) {
        entry.append(1, ' ').append(field.name);
    }
    return entry;
}

}  // namespace tollgate::management
