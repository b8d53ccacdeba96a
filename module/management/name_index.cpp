#include "module/management/name_index.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

#include "module/key/key_record.hpp"
#include "module/text/case_folding.hpp"

namespace tollgate::management {

namespace {

/// Between the name and the id in the index. Names have no control characters, so names with the
/// same begin follow each other.
constexpr char kBeforeId = '\n';
/// Greater than each byte of UTF-8.
constexpr char kAfterNames = '\xff';

std::string member_of_folded(std::string_view id, std::string_view name) {
    return std::string(name).append(1, kBeforeId).append(id);
}

/// Nothing if another program has stored something else.
std::optional<IndexedName> name_in(const std::string& member) {
    const auto end = member.rfind(kBeforeId);
    if (end == std::string::npos) {
        return std::nullopt;
    }
    IndexedName found{.name = member.substr(0, end), .id = member.substr(end + 1)};
    return is_valid_key_id(found.id) ? std::optional(std::move(found)) : std::nullopt;
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

bool has_name(const KeysOfId& keys, std::string_view name) {
    return std::ranges::any_of(
        keys.keys, [&](const StoredKey& key) { return fold_case(key.record.name) == name; });
}

std::string NameIndex::member_of(std::string_view id, std::string_view name) {
    return name.empty() ? std::string() : member_of_folded(id, fold_case(name));
}

redis::Command NameIndex::adding(std::vector<std::string> members) const {
    redis::Command add{"ZADD", keys_.names()};
    for (auto& member : members) {
        add.insert(add.end(), {"0", std::move(member)});
    }
    return add;
}

Task<void> NameIndex::add(std::string id, std::string name) {
    if (name.empty()) {
        co_return;
    }
    std::vector<std::string> members(1, member_of(id, name));
    auto command = adding(std::move(members));
    co_await run(database_, std::move(command));
}

Task<void> NameIndex::remove(std::string id, std::string name) {
    if (name.empty()) {
        co_return;
    }
    redis::Command command{"ZREM", keys_.names(), member_of(id, name)};
    co_await run(database_, std::move(command));
    // Another key of the id has the name, or another operation has given it to the id meanwhile.
    const auto keys = co_await reader_.all_keys(id);
    const auto folded = fold_case(name);
    if (has_name(keys, folded)) {
        co_await add(std::move(id), std::move(name));
    }
}

Task<NameIndex::Names> NameIndex::after(std::string prefix, std::optional<IndexedName> last,
                                        std::size_t count) {
    const auto from = last ? "(" + member_of_folded(last->id, last->name) : "[" + prefix;
    redis::Command command{
        "ZRANGEBYLEX", keys_.names(),        from, "(" + prefix + kAfterNames, "LIMIT",
        "0",           std::to_string(count)};
    const auto members = co_await run(database_, std::move(command));
    Names found;
    for (const auto& member : members.elements) {
        if (auto name = name_in(member.text)) {
            found.names.push_back(std::move(*name));
        }
    }
    found.has_more = members.elements.size() == count && !found.names.empty();
    co_return found;
}

Task<std::vector<KeysOfId>> NameIndex::keys_of(std::span<const IndexedName> names) {
    std::map<std::string_view, std::size_t> places;
    std::vector<std::string> ids;
    for (const auto& name : names) {
        if (places.try_emplace(name.id, ids.size()).second) {
            ids.push_back(name.id);
        }
    }
    const auto keys = co_await reader_.keys_of(std::move(ids));
    std::vector<KeysOfId> all;
    std::ranges::transform(names, std::back_inserter(all), [&](const IndexedName& name) {
        return keys[places.find(name.id)->second];
    });
    co_return all;
}

Task<NameIndex::Repairs> NameIndex::rebuild() {
    Repairs repairs;
    repairs.added = co_await add_missing();
    repairs.removed = co_await remove_untrue();
    co_return repairs;
}

Task<std::size_t> NameIndex::add_missing() {
    constexpr std::size_t kIdsPerRead = 500;
    std::size_t added = 0;
    std::optional<Place> last;
    do {
        const auto page = co_await reader_.page(last, kIdsPerRead);
        last = page.next();
        std::vector<std::string> members;
        for (const auto& keys : page.ids) {
            for (const auto& key : keys.keys) {
                if (auto member = member_of(keys.id, key.record.name); !member.empty()) {
                    members.push_back(std::move(member));
                }
            }
        }
        if (!members.empty()) {
            auto add = adding(std::move(members));
            const auto missing = co_await run(database_, std::move(add));
            added += static_cast<std::size_t>(missing.integer);
        }
    } while (last);
    co_return added;
}

Task<std::size_t> NameIndex::remove_untrue() {
    constexpr std::size_t kNamesPerRead = 500;
    std::size_t removed = 0;
    std::optional<IndexedName> last;
    for (bool has_more = true; has_more;) {
        std::string any;
        const auto page = co_await after(std::move(any), last, kNamesPerRead);
        const auto& names = page.names;
        has_more = page.has_more;
        const auto keys = co_await keys_of(names);
        for (std::size_t i = 0; i < names.size(); ++i) {
            if (!has_name(keys[i], names[i].name)) {
                co_await remove(names[i].id, names[i].name);
                ++removed;
            }
        }
        if (!names.empty()) {
            last = names.back();
        }
    }
    co_return removed;
}

}  // namespace tollgate::management
