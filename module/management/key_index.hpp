#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "module/management/database.hpp"
#include "module/management/indexed_fields.hpp"
#include "module/management/key_reader.hpp"

namespace tollgate::management {

/// A name without capital letters, see fold_case(), and the id that has it.
struct IndexedName {
    std::string name;
    std::string id;

    bool operator==(const IndexedName&) const = default;

    /// The name as a client repeats it: `ID:NAME`.
    std::string cursor() const { return id + ":" + name; }
    /// Nothing if the text is not a cursor.
    static std::optional<IndexedName> of_cursor(std::string_view cursor);
};

/// The index of keys, see entries_of(): a sorted set, by text. An operation adds the entries of a
/// key before it stores the key, or in the same transaction, and removes the old ones afterwards,
/// because the index may be in another slot. So the index has each entry, and may have more: an
/// interrupted operation leaves some that are not true. Who reads the index compares it with the
/// records. All tasks throw OperationError.
class KeyIndex {
  public:
    /// `database` and `keys` must outlive the object, which must outlive its tasks.
    KeyIndex(Database& database, const redis::Keys& keys)
        : database_(database), keys_(keys), reader_(database, keys) {}

    /// Whether the index has the entries of all ids. If another program, or an earlier version, has
    /// stored keys, only rebuild() makes it complete.
    Task<bool> is_complete();
    /// Notes that it has, if there is no id yet. Before the first id is listed.
    Task<void> begin();

    /// The commands that an operation executes before it stores a key, or together with it: they
    /// add entries, and store the group of the id (see group_index.hpp).
    std::vector<redis::Command> storing(std::string id, std::string group,
                                        std::vector<std::string> entries) const;
    /// Adds entries.
    Task<void> add(std::vector<std::string> entries);
    /// Removes entries of an id, unless a key of the id has them. Does nothing to those that one
    /// has before and after.
    Task<void> remove(std::string id, std::vector<std::string> entries);

    /// Some consecutive names.
    struct Names {
        std::vector<IndexedName> names;
        bool has_more = false;
    };
    /// The next names after one, of those that begin with `prefix`, which has no capital letters.
    Task<Names> names_after(std::string prefix, std::optional<IndexedName> last, std::size_t count);
    /// The keys of the ids of these names, in their order, without pending ones: none if the
    /// current key has another name.
    Task<std::vector<KeysOfId>> keys_of(std::span<const IndexedName> names);

    /// The next ids with a value of a field after a place, in the order of their creation, and
    /// their keys without pending ones: none if the current key does not have the value. `begin` is
    /// that of the value's entries.
    Task<KeyPage> page(std::string begin, std::optional<ListCursor> last, std::size_t count);

    /// What a rebuild has found.
    struct Repairs {
        std::size_t added = 0;
        std::size_t removed = 0;
    };
    /// Adds the entries that are missing, removes those that no key has, and notes that the index
    /// is complete. Other operations may run at the same time.
    Task<Repairs> rebuild();

  private:
    redis::Command adding(std::vector<std::string> entries) const;
    Task<std::vector<std::string>> entries_after(std::string begin, std::string last,
                                                 std::size_t count);
    Task<std::vector<KeysOfId>> keys_with(std::vector<std::string> entries);
    Task<void> drop_untrue(std::vector<KeysOfId>& keys, const std::vector<std::string>& entries);
    Task<std::size_t> add_missing();
    Task<std::size_t> remove_untrue();

    Database& database_;
    const redis::Keys& keys_;
    KeyReader reader_;
};

}  // namespace tollgate::management
