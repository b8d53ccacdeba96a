#include "module/management/key_search.hpp"

#include <algorithm>
#include <span>
#include <utility>

#include "module/management/id_list.hpp"
#include "module/management/indexed_fields.hpp"
#include "module/management/key_index.hpp"
#include "module/management/key_reader.hpp"

namespace tollgate::management {

namespace {

/// How many ids are read at the same time.
constexpr std::size_t kKeysPerRead = 100;
/// How many names are matched with a pattern at the same time.
constexpr std::size_t kNamesPerMatch = 100;

template <typename PlaceType>
std::optional<PlaceType> place_after(const std::optional<std::string>& cursor) {
    auto place = cursor ? PlaceType::of_cursor(*cursor) : std::nullopt;
    if (cursor && !place) {
        refuse_cursor();
    }
    return place;
}

/// The index that leads to the keys that match the filter, and what it cannot tell of them.
struct IndexUse {
    std::string begin{};  ///< of the entries; empty: all ids are examined
    KeyFilter rest{};
};

IndexUse index_use_of(const KeyFilter& filter) {
    IndexUse use{.rest = filter};
    for (const auto& field : indexed_fields()) {
        auto& wanted = use.rest.*field.wanted;
        if (wanted) {
            use.begin = begin_of_entries(field, value_in_index(*wanted));
            wanted.reset();
            break;
        }
    }
    return use;
}

/// In the order of creation, which is that of the entries of a value as well.
Task<FoundKeys> find_by_creation(Database& database, const redis::Keys& keys, KeyQuery query) {
    auto last = place_after<ListCursor>(query.after);
    if (!last && query.filter.created_from) {
        // No id is before an empty one.
        last = ListCursor{
            .created = static_cast<double>(query.filter.created_from->time_since_epoch().count()),
            .id = ""};
    }
    KeyReader reader(database, keys);
    KeyIndex index(database, keys);
    auto use = index_use_of(query.filter);
    if (!use.begin.empty()) {
        const bool is_complete = co_await index.is_complete();
        use = is_complete ? std::move(use) : IndexUse{.rest = query.filter};
    }
    PageBounds bounds(database, query.limit);
    FoundKeys found;
    bool has_more = true;
    while (has_more && !bounds.is_end_or_late(found.ids.size())) {
        const auto missing = query.limit - found.ids.size();
        const auto count = use.rest.is_empty() ? missing : kKeysPerRead;
        KeyPage page;
        if (use.begin.empty()) {
            page = co_await reader.page(last, count);
        } else {
            page = co_await index.page(use.begin, last, count);
        }
        has_more = page.has_more;
        bounds.note_examined(page.ids.size());
        for (std::size_t i = 0; i < page.ids.size() && found.ids.size() < query.limit; ++i) {
            if (matches(query.filter, page.ids[i], query.now)) {
                found.ids.push_back(std::move(page.ids[i]));
            }
            last = page.places[i];
            has_more = page.has_more || i + 1 < page.ids.size();
        }
    }
    if (has_more) {
        found.next = last->cursor();
    }
    co_return found;
}

/// The ids of some entries of the index that match the filter, until the page has `limit`. Returns
/// how many entries were examined. An entry that an interrupted operation has left is skipped.
Task<std::size_t> add_matches(KeyIndex& index, const KeyQuery& query,
                              std::span<const IndexedName> names, FoundKeys& found) {
    auto keys = co_await index.keys_of(names);
    std::size_t examined = 0;
    for (; examined < names.size() && found.ids.size() < query.limit; ++examined) {
        KeysOfId& one = keys[examined];
        if (!one.keys.empty() && matches(query.filter, one, query.now)) {
            found.ids.push_back(std::move(one));
        }
    }
    co_return examined;
}

Task<FoundKeys> find_by_name(Database& database, const redis::Keys& keys, KeyQuery query) {
    auto last = place_after<IndexedName>(query.after);
    const NamePattern pattern(*query.filter.name);
    KeyIndex index(database, keys);
    PageBounds bounds(database, query.limit);
    FoundKeys found;
    bool has_more = true;
    while (has_more && !bounds.is_end_or_late(found.ids.size())) {
        const auto missing = query.limit - found.ids.size();
        const auto count =
            pattern.is_prefix() ? std::min(missing + 1, kKeysPerRead) : kNamesPerMatch;
        std::string prefix(pattern.prefix());
        const auto page = co_await index.names_after(std::move(prefix), last, count);
        has_more = page.has_more;
        std::vector<IndexedName> names = page.names;
        if (!names.empty()) {
            last = names.back();
        }
        std::erase_if(names, [&](const IndexedName& name) { return !pattern.matches(name.name); });
        for (std::span<const IndexedName> rest = names;
             !rest.empty() && found.ids.size() < query.limit;) {
            const auto next = rest.first(std::min(rest.size(), kKeysPerRead));
            const auto examined = co_await add_matches(index, query, next, found);
            bounds.note_examined(examined);
            rest = rest.subspan(examined);
            if (!rest.empty() && found.ids.size() == query.limit) {
                last = *(rest.begin() - 1);
                has_more = true;
            }
        }
    }
    if (has_more) {
        found.next = last->cursor();
    }
    co_return found;
}

}  // namespace

Task<FoundKeys> find_keys(Database& database, const redis::Keys& keys, KeyQuery query) {
    if (query.filter.name) {
        co_return co_await find_by_name(database, keys, std::move(query));
    }
    co_return co_await find_by_creation(database, keys, std::move(query));
}

}  // namespace tollgate::management
