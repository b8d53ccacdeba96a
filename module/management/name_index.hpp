#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "module/management/database.hpp"
#include "module/management/key_reader.hpp"

namespace tollgate::management {

/// An entry of the index: an id and its name without capital letters, see fold_case().
struct IndexedName {
    std::string name;
    std::string id;

    bool operator==(const IndexedName&) const = default;

    /// The entry as a client repeats it: `ID:NAME`.
    std::string cursor() const { return id + ":" + name; }
    /// Nothing if the text is not a cursor.
    static std::optional<IndexedName> of_cursor(std::string_view cursor);
};

/// The index of the names of ids: a sorted set, by name. An operation adds the name before it
/// stores it in the record of a key, and removes the old one afterwards, because the index may be
/// in another slot. So the index has each name, and may have more: an interrupted operation leaves
/// an entry that is not true. Who reads the index compares it with the records. All tasks throw
/// OperationError.
class NameIndex {
  public:
    /// `database` and `keys` must outlive the object, which must outlive its tasks.
    NameIndex(Database& database, const redis::Keys& keys)
        : database_(database), keys_(keys), reader_(database, keys) {}

    /// What the index has of a name; empty: a name without characters has no entry.
    static std::string member_of(std::string_view id, std::string_view name);
    /// The command that adds members.
    redis::Command adding(std::vector<std::string> members) const;

    /// Adds the name of an id.
    Task<void> add(std::string id, std::string name);
    /// Removes the name of an id, unless a key of the id has it.
    Task<void> remove(std::string id, std::string name);

    /// Some consecutive entries.
    struct Names {
        std::vector<IndexedName> names;
        bool has_more = false;
    };
    /// The next entries after one, of names that begin with `prefix`, which has no capital letters.
    Task<Names> after(std::string prefix, std::optional<IndexedName> last, std::size_t count);
    /// The keys of the ids of these entries, in their order, without pending ones. An id may have
    /// several entries.
    Task<std::vector<KeysOfId>> keys_of(std::span<const IndexedName> names);

    /// What a rebuild has found.
    struct Repairs {
        std::size_t added = 0;
        std::size_t removed = 0;
    };
    /// Adds the names that are missing, and removes those that no key has. Other operations may run
    /// at the same time.
    Task<Repairs> rebuild();

  private:
    Task<std::size_t> add_missing();
    Task<std::size_t> remove_untrue();

    Database& database_;
    const redis::Keys& keys_;
    KeyReader reader_;
};

/// Whether one of the keys has this name, which has no capital letters.
bool has_name(const KeysOfId& keys, std::string_view name);

}  // namespace tollgate::management
