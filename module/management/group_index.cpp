#include "module/management/group_index.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "module/management/key_reader.hpp"

namespace tollgate::management {

namespace {

using namespace std::chrono_literals;

constexpr std::size_t kIdsPerRead = 500;
/// An operation stores a group in the index and then in the record, within this time.
constexpr std::chrono::milliseconds kOperationTime = 1s;

/// The ids that the index has in other groups than their records, or that an operation is changing.
Task<std::vector<std::string>> possibly_wrong(Database& database, const redis::Keys& keys) {
    KeyReader reader(database, keys);
    std::vector<std::string> ids;
    std::optional<ListCursor> last;
    do {
        const auto page = co_await reader.page(last, kIdsPerRead);
        last = page.next();
        const auto others = co_await in_other_groups(database, keys, page.ids);
        for (const auto& other : others) {
            ids.push_back(other.id);
        }
    } while (last);
    co_return ids;
}

}  // namespace

Task<std::vector<OwnerName>> owners_of(Database& database, const redis::Keys& keys,
                                       std::vector<std::string> ids) {
    std::vector<OwnerName> owners;
    owners.reserve(ids.size());
    if (ids.empty()) {
        co_return owners;
    }
    // A command with all ids would take Redis long.
    constexpr std::size_t kAtOnce = 16;
    std::vector<redis::Command> reads;
    reads.reserve(ids.size() / kAtOnce + 1);
    for (std::size_t i = 0; i < ids.size(); ++i) {
        if (i % kAtOnce == 0) {
            reads.push_back({"HMGET", keys.group_of_ids()});
        }
        reads.back().push_back(ids[i]);
    }
    const auto groups = co_await run_all(database, std::move(reads));
    for (std::size_t i = 0; i < ids.size(); ++i) {
        const auto& some = groups[i / kAtOnce].elements;
        std::string group = i % kAtOnce < some.size() ? some[i % kAtOnce].text : std::string();
        owners.push_back({.id = std::move(ids[i]), .group = std::move(group)});
        co_await Pause(database);
    }
    co_return owners;
}

Task<OwnerName> owner_of(Database& database, const redis::Keys& keys, std::string id) {
    std::vector<std::string> ids;
    ids.push_back(std::move(id));
    auto owners = co_await owners_of(database, keys, std::move(ids));
    co_return std::move(owners.front());
}

redis::Command indexing(const redis::Keys& keys, std::string id, std::string group) {
    if (group.empty()) {
        return {"HDEL", keys.group_of_ids(), std::move(id)};
    }
    return {"HSET", keys.group_of_ids(), std::move(id), std::move(group)};
}

Task<std::vector<OwnerName>> in_other_groups(Database& database, const redis::Keys& keys,
                                             const std::vector<KeysOfId>& ids) {
    std::vector<OwnerName> stored;
    std::vector<std::string> names;
    for (const auto& id : ids) {
        if (!id.keys.empty()) {
            stored.push_back({.id = id.id, .group = id.keys.front().record.group});
            names.push_back(id.id);
        }
    }
    const auto indexed = co_await owners_of(database, keys, std::move(names));
    std::vector<OwnerName> others;
    for (std::size_t i = 0; i < stored.size(); ++i) {
        if (indexed[i].group != stored[i].group) {
            others.push_back(std::move(stored[i]));
        }
    }
    co_return others;
}

Task<std::size_t> correct_group_index(Database& database, const redis::Keys& keys) {
    const auto ids = co_await possibly_wrong(database, keys);
    if (ids.empty()) {
        co_return 0;
    }
    co_await wait(database, kOperationTime);
    KeyReader reader(database, keys);
    std::size_t corrected = 0;
    for (auto next = ids.begin(); next != ids.end();) {
        const auto left = static_cast<std::size_t>(ids.end() - next);
        const auto end = next + static_cast<std::ptrdiff_t>(std::min(left, kIdsPerRead));
        std::vector<std::string> some(next, end);
        next = end;
        const auto stored = co_await reader.keys_of(std::move(some));
        const auto wrong = co_await in_other_groups(database, keys, stored);
        std::vector<redis::Command> commands;
        commands.reserve(wrong.size());
        for (const auto& id : wrong) {
            commands.push_back(indexing(keys, id.id, id.group));
        }
        if (!commands.empty()) {
            co_await run_all(database, std::move(commands));
        }
        corrected += wrong.size();
    }
    co_return corrected;
}

OwnerName owner_in(std::string_view text) {
    const auto tag = text.substr(0, text.find('}'));
    if (tag.size() == text.size() || tag.empty()) {
        return {};
    }
    const auto rest = text.substr(tag.size() + 1);
    const auto id = rest.substr(0, rest.find(':'));
    return id.empty() ? OwnerName{.id = std::string(tag)}
                      : OwnerName{.id = std::string(id), .group = std::string(tag)};
}

}  // namespace tollgate::management
