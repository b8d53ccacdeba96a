#include "module/management/key_index.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

#include "module/key/key_record.hpp"
#include "module/management/group_index.hpp"

namespace tollgate::management {

namespace {

/// Greater than each byte of UTF-8.
constexpr char kAfterEntries = '\xff';

std::string entry_of_name(const IndexedName& name) {
    return begin_of_entries(field_of_names(), name.name).append(name.id);
}

/// Nothing if another program has stored something else.
std::optional<IndexedName> name_in(std::string_view entry) {
    const auto begin = begin_of_entries(field_of_names());
    const auto id = id_of_entry(entry);
    if (id.empty() || !entry.starts_with(begin)) {
        return std::nullopt;
    }
    // A line feed is between the name and the id.
    const auto name = entry.substr(begin.size(), entry.size() - begin.size() - 1 - id.size());
    return IndexedName{.name = std::string(name), .id = std::string(id)};
}

bool has_entry(const StoredKey& key, const std::string& entry) {
    return std::ranges::binary_search(entries_of(key), entry);
}

bool has_entry(const KeysOfId& keys, const std::string& entry) {
    return std::ranges::any_of(keys.keys,
                               [&](const StoredKey& key) { return has_entry(key, entry); });
}

}  // namespace

std::optional<IndexedName> IndexedName::of_cursor(std::string_view cursor) {
    const auto colon = cursor.find(':');
    if (colon == std::string_view::npos || !is_valid_key_id(cursor.substr(0, colon)) ||
        !is_valid_key_name(cursor.substr(colon + 1))) {
        return std::nullopt;
    }
    return IndexedName{.name = std::string(cursor.substr(colon + 1)),
                       .id = std::string(cursor.substr(0, colon))};
}

Task<bool> KeyIndex::is_complete() {
    redis::Command command{"ZSCORE", keys_.index(), complete_entry()};
    const auto score = co_await run(database_, std::move(command));
    co_return !score.is_nil();
}

Task<void> KeyIndex::begin() {
    redis::Command command{"EXISTS", keys_.ids()};
    const auto exists = co_await run(database_, std::move(command));
    if (exists.integer == 0) {
        std::vector<std::string> complete(1, complete_entry());
        co_await add(std::move(complete));
    }
}

redis::Command KeyIndex::adding(std::vector<std::string> entries) const {
    redis::Command add{"ZADD", keys_.index()};
    for (auto& entry : entries) {
        add.insert(add.end(), {"0", std::move(entry)});
    }
    return add;
}

std::vector<redis::Command> KeyIndex::storing(std::string id, std::string group,
                                              std::vector<std::string> entries) const {
    std::vector<redis::Command> commands;
    if (!entries.empty()) {
        commands.push_back(adding(std::move(entries)));
    }
    commands.push_back(indexing(keys_, std::move(id), std::move(group)));
    return commands;
}

Task<void> KeyIndex::add(std::vector<std::string> entries) {
    if (!entries.empty()) {
        auto command = adding(std::move(entries));
        co_await run(database_, std::move(command));
    }
}

Task<void> KeyIndex::remove(std::string id, std::vector<std::string> entries) {
    KeysOfId keys;
    const bool is_apart = !database_.may_span(keys_.id(id), keys_.index());
    for (bool removed = false; !removed;) {
        if (entries.empty()) {
            co_return;
        }
        auto read = co_await reader_.snapshot(id);
        Transaction transaction;
        if (!is_apart) {
            transaction.conditions = read.unchanged(keys_);
        }
        keys = std::move(read).with_pending();
        std::erase_if(entries, [&](const std::string& entry) { return has_entry(keys, entry); });
        if (entries.empty()) {
            co_return;
        }
        redis::Command command{"ZREM", keys_.index()};
        command.insert(command.end(), entries.begin(), entries.end());
        transaction.commands.push_back(std::move(command));
        const auto replies = co_await execute(database_, std::move(transaction));
        removed = replies.has_value();
    }
    if (!is_apart) {
        co_return;
    }
    // Another operation may have given them to the id meanwhile.
    keys = co_await reader_.all_keys(std::move(id));
    std::erase_if(entries, [&](const std::string& entry) { return !has_entry(keys, entry); });
    co_await add(std::move(entries));
}

/// The next entries that begin with `begin`, after the entry `last`, if it is not empty.
Task<std::vector<std::string>> KeyIndex::entries_after(std::string begin, std::string last,
                                                       std::size_t count) {
    const auto from = last.empty() ? "[" + begin : "(" + last;
    redis::Command command{
        "ZRANGEBYLEX", keys_.index(),        from, "(" + begin + kAfterEntries, "LIMIT",
        "0",           std::to_string(count)};
    const auto entries = co_await run(database_, std::move(command));
    co_return entries.texts();
}

/// The keys of the ids of these entries, in their order, without pending ones. An id may have
/// several entries.
Task<std::vector<KeysOfId>> KeyIndex::keys_with(std::vector<std::string> entries) {
    struct Found {
        std::size_t place;    ///< in `ids`
        std::size_t entries;  ///< that were not answered yet
    };
    std::map<std::string_view, Found> places;
    std::vector<std::string> ids;
    for (const auto& entry : entries) {
        const auto id = id_of_entry(entry);
        const auto [place, is_new] = places.try_emplace(id, Found{ids.size(), 0});
        ++place->second.entries;
        if (is_new) {
            ids.emplace_back(id);
        }
    }
    auto keys = co_await reader_.keys_of(std::move(ids));
    std::vector<KeysOfId> all;
    all.reserve(entries.size());
    for (const auto& entry : entries) {
        Found& found = places.find(id_of_entry(entry))->second;
        KeysOfId& one = keys[found.place];
        all.push_back(--found.entries == 0 ? std::move(one) : one);
        co_await Pause(database_);
    }
    co_return all;
}

/// Leaves only the keys of ids whose current key has the entry.
Task<void> KeyIndex::drop_untrue(std::vector<KeysOfId>& keys,
                                 const std::vector<std::string>& entries) {
    for (std::size_t i = 0; i < keys.size(); ++i) {
        auto& found = keys[i].keys;
        if (!found.empty() && !has_entry(found.front(), entries[i])) {
            found.clear();
        }
        co_await Pause(database_);
    }
}

Task<KeyIndex::Names> KeyIndex::names_after(std::string prefix, std::optional<IndexedName> last,
                                            std::size_t count) {
    auto begin = begin_of_entries(field_of_names()).append(prefix);
    auto last_entry = last ? entry_of_name(*last) : std::string();
    const auto entries = co_await entries_after(std::move(begin), std::move(last_entry), count);
    Names found;
    for (const auto& entry : entries) {
        if (auto name = name_in(entry)) {
            found.names.push_back(std::move(*name));
        }
    }
    found.has_more = entries.size() == count && !found.names.empty();
    co_return found;
}

Task<std::vector<KeysOfId>> KeyIndex::keys_of(std::span<const IndexedName> names) {
    std::vector<std::string> entries;
    std::ranges::transform(names, std::back_inserter(entries), entry_of_name);
    auto keys = co_await keys_with(entries);
    co_await drop_untrue(keys, entries);
    co_return keys;
}

Task<KeyPage> KeyIndex::page(std::string begin, std::optional<ListCursor> last, std::size_t count) {
    auto last_entry = last ? begin + end_of_entry(*last) : std::string();
    auto entries = co_await entries_after(std::move(begin), std::move(last_entry), count + 1);
    const bool has_more = entries.size() > count;
    entries.resize(std::min(entries.size(), count));
    std::erase_if(entries, [](const std::string& entry) { return !place_of_entry(entry); });
    KeyPage page;
    page.places.reserve(entries.size());
    for (const auto& entry : entries) {
        page.places.push_back(*place_of_entry(entry));
    }
    page.has_more = has_more && !entries.empty();
    page.ids = co_await keys_with(entries);
    co_await drop_untrue(page.ids, entries);
    co_return page;
}

Task<KeyIndex::Repairs> KeyIndex::rebuild() {
    Repairs repairs;
    repairs.added = co_await add_missing();
    repairs.removed = co_await remove_untrue();
    std::vector<std::string> complete(1, complete_entry());
    co_await add(std::move(complete));
    co_return repairs;
}

Task<std::size_t> KeyIndex::add_missing() {
    constexpr std::size_t kIdsPerRead = 500;
    std::size_t added = 0;
    std::optional<ListCursor> last;
    do {
        const auto page = co_await reader_.page(last, kIdsPerRead);
        last = page.next();
        std::vector<std::string> entries;
        for (const auto& one : page.ids) {
            std::ranges::move(entries_of(one.keys), std::back_inserter(entries));
        }
        if (!entries.empty()) {
            auto add = adding(std::move(entries));
            const auto missing = co_await run(database_, std::move(add));
            added += static_cast<std::size_t>(missing.integer);
        }
    } while (last);
    co_return added;
}

Task<std::size_t> KeyIndex::remove_untrue() {
    constexpr std::size_t kEntriesPerRead = 500;
    std::size_t removed = 0;
    std::string last;
    for (bool has_more = true; has_more;) {
        std::string any;
        auto entries = co_await entries_after(std::move(any), last, kEntriesPerRead);
        has_more = entries.size() == kEntriesPerRead;
        if (has_more) {
            last = entries.back();
        }
        std::erase_if(entries, [](const std::string& entry) { return id_of_entry(entry).empty(); });
        const auto keys = co_await keys_with(entries);
        for (std::size_t i = 0; i < entries.size(); ++i) {
            if (!has_entry(keys[i], entries[i])) {
                std::vector<std::string> untrue;
                untrue.push_back(std::move(entries[i]));
                co_await remove(keys[i].id, std::move(untrue));
                ++removed;
            }
        }
    }
    co_return removed;
}

}  // namespace tollgate::management
