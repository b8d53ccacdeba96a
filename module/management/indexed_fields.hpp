#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "module/management/id_list.hpp"
#include "module/management/key_filter.hpp"
#include "module/management/stored_key.hpp"

namespace tollgate::management {

// Which fields of a record lead to its id, and what the index (redis::Keys::index) has of a key:
// for each value of such a field the entry `FIELD:VALUE`, a line feed, and the place of the id.
// Values have no line feed, so the entries of a value follow each other.

/// A field of the record by which ids are found.
struct IndexedField {
    /// The order of the entries of a value: by id, or by the time of creation and then by id, as in
    /// `ids`.
    enum class Order : std::uint8_t { kId, kCreation };

    std::string_view name;
    /// The values that a record has, as the entries have them: see value_in_index().
    std::vector<std::string> (*values)(const KeyRecord&);
    std::optional<std::string> KeyFilter::*wanted;  ///< the value that a list is asked for
    Order order;
};

/// All of them. A search uses the first one that its filter has.
std::span<const IndexedField> indexed_fields();
/// The one whose entries are in the order of names.
const IndexedField& field_of_names();

/// Whether a record has this value of a field, in the index's form.
bool has_value(const IndexedField& field, const KeyRecord& record, std::string_view value);

/// Whether the current key of an id is one that a list shows, whatever its name is: see
/// find_keys().
bool matches(const KeyFilter& filter, const KeysOfId& keys, std::chrono::sys_seconds now);

/// What the index has of a value: a part of its SHA-256 if it is long.
std::string value_in_index(std::string_view value);

/// The begin of the entries of a field, and of those of one of its values, which is in the index's
/// form.
std::string begin_of_entries(const IndexedField& field);
std::string begin_of_entries(const IndexedField& field, std::string_view value);

/// The entries of a key, sorted, each once.
std::vector<std::string> entries_of(const StoredKey& key);
/// The entries of all keys of an id, sorted, each once.
std::vector<std::string> entries_of(const std::vector<StoredKey>& keys);

/// The id of an entry; empty if the text is none.
std::string_view id_of_entry(std::string_view entry);

/// Where an id is among the entries of a value in the order of creation: the end of its entry.
std::string end_of_entry(const ListCursor& place);
/// The place of such an entry. Nothing if the text is none.
std::optional<ListCursor> place_of_entry(std::string_view entry);

/// What a change of a key changes in the index.
struct IndexChange {
    std::vector<std::string> added;
    std::vector<std::string> removed;
};
IndexChange index_change(const StoredKey& before, const StoredKey& after);

/// An entry that says that the index has all ids, in these fields.
std::string complete_entry();

}  // namespace tollgate::management
