#include "module/management/key_reader.hpp"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <iterator>
#include <map>
#include <utility>

#include "module/redis/protocol/redis_time.hpp"

namespace tollgate::management {

namespace {

/// The rank of a key among the keys of one id; read() sorts by it. A key that a rotation replaces
/// is before its successor until the rotation has removed it.
enum class Rank : std::uint8_t { kCurrent, kReplaced, kUnfinished, kRetiring, kPending };

Rank rank_of(const StoredKey& key) {
    using enum Rank;
    if (key.pending) {
        return kPending;
    }
    if (key.replaced) {
        return kReplaced;
    }
    if (key.record.retiring) {
        return kRetiring;
    }
    return key.is_unfinished() ? kUnfinished : kCurrent;
}

/// Whether a key is before another one of the id. Of two unfinished ones, the newer one is the
/// successor.
bool is_before(const StoredKey& a, const StoredKey& b) {
    const auto rank = rank_of(a);
    if (rank != rank_of(b)) {
        return rank < rank_of(b);
    }
    return rank == Rank::kUnfinished ? a.created < b.created : a.created > b.created;
}

}  // namespace

Task<std::chrono::sys_seconds> KeyReader::now() {
    const auto exact = co_await time();
    co_return std::chrono::floor<std::chrono::seconds>(exact);
}

Task<Instant> KeyReader::time() {
    redis::Command command{"TIME"};
    const auto reply = co_await run(database_, std::move(command));
    co_return time_of_reply(reply);
}

Task<std::string> KeyReader::id_with(std::string digest) {
    std::vector<std::string> digests;
    digests.push_back(std::move(digest));
    const auto found = co_await read(std::move(digests));
    if (found.empty() || found.front().pending) {
        throw OperationError(Reason::kUnknownId, "no id has this key");
    }
    co_return found.front().record.id;
}

Task<void> KeyReader::require_id(std::string id) {
    redis::Command command{"ZSCORE", keys_.ids(), id};
    const auto score = co_await run(database_, std::move(command));
    if (score.is_nil()) {
        const auto digests = co_await digests_of(id);
        if (digests.empty()) {
            throw unknown_id(id);
        }
    }
}

Task<KeysOfId> KeyReader::all_keys(std::string id) {
    std::vector<std::string> ids{std::move(id)};
    auto all = co_await all_keys(std::move(ids));
    co_return std::move(all.front());
}

Task<KeysOfId> KeyReader::find(std::string id) {
    auto keys = co_await all_keys(id);
    std::erase_if(keys.keys, std::mem_fn(&StoredKey::pending));
    if (keys.keys.empty()) {
        co_await require_id(id);
    }
    co_return keys;
}

Task<KeyPage> KeyReader::page(std::optional<Place> after, std::size_t limit) {
    KeyPage page;
    page.places = co_await ids_.page(std::move(after), limit, page.has_more);
    std::vector<std::string> ids;
    std::ranges::transform(page.places, std::back_inserter(ids), &Place::id);
    page.ids = co_await keys_of(std::move(ids));
    co_return page;
}

Task<std::vector<KeysOfId>> KeyReader::keys_of(std::vector<std::string> ids) {
    auto all = co_await all_keys(std::move(ids));
    for (KeysOfId& one : all) {
        std::erase_if(one.keys, std::mem_fn(&StoredKey::pending));
    }
    co_return all;
}

/// The keys of each id, also pending ones. If there is no key of a digest that a set lists, the key
/// has expired, or an operation has replaced it since the set was read. Then the set has changed.
Task<std::vector<KeysOfId>> KeyReader::all_keys(std::vector<std::string> ids) {
    std::vector<Listed> all(ids.size());
    std::vector<Listed*> unread;
    unread.reserve(ids.size());
    for (std::size_t i = 0; i < ids.size(); ++i) {
        all[i].id = std::move(ids[i]);
        unread.push_back(&all[i]);
    }
    while (!unread.empty()) {
        unread = co_await changed_sets(std::move(unread));
        co_await read_listed(unread);
        std::erase_if(unread,
                      [](const Listed* id) { return id->keys.size() == id->digests.size(); });
    }
    std::vector<KeysOfId> keys;
    keys.reserve(all.size());
    for (Listed& id : all) {
        keys.push_back(std::move(id));
    }
    co_return keys;
}

/// Reads the sets of these ids. Returns those that changed.
Task<std::vector<KeyReader::Listed*>> KeyReader::changed_sets(std::vector<Listed*> ids) {
    std::vector<redis::Command> commands;
    commands.reserve(ids.size());
    for (const Listed* id : ids) {
        commands.push_back({"SMEMBERS", keys_.id(id->id)});
        co_await Pause(database_);
    }
    const auto sets = co_await run_all(database_, std::move(commands));
    std::vector<Listed*> changed;
    for (std::size_t i = 0; i < ids.size(); ++i) {
        auto digests = sets[i].texts();
        std::ranges::sort(digests);
        if (digests != ids[i]->digests) {
            ids[i]->digests = std::move(digests);
            changed.push_back(ids[i]);
        }
        co_await Pause(database_);
    }
    co_return changed;
}

/// Reads the keys that these ids list. A digest may have been reserved for another id since.
Task<void> KeyReader::read_listed(std::vector<Listed*> ids) {
    std::vector<std::string> digests;
    std::map<std::string_view, Listed*> by_name;
    for (Listed* id : ids) {
        id->keys.clear();
        by_name.emplace(id->id, id);
        std::ranges::copy(id->digests, std::back_inserter(digests));
    }
    auto found = co_await read_each(std::move(digests));
    for (StoredKey& key : found) {
        const auto id = by_name.find(key.record.id);
        if (id != by_name.end() && std::ranges::binary_search(id->second->digests, key.digest)) {
            id->second->keys.push_back(std::move(key));
        }
        co_await Pause(database_);
    }
    for (Listed* id : ids) {
        std::ranges::stable_sort(id->keys, is_before);
    }
}

Task<std::vector<KeysOfId>> KeyReader::with_last_uses(std::vector<KeysOfId> ids) {
    std::vector<redis::Command> commands;
    commands.reserve(ids.size());
    for (const auto& one : ids) {
        commands.push_back({"HGETALL", keys_.used(one.id)});
        co_await Pause(database_);
    }
    const auto replies = co_await run_all(database_, std::move(commands));
    for (std::size_t i = 0; i < ids.size(); ++i) {
        auto uses = replies[i].fields();
        for (auto& key : ids[i].keys) {
            key.used = redis::parse_unix_time(uses[key.digest]);
        }
        co_await Pause(database_);
    }
    co_return ids;
}

Task<KeysOfId> KeyReader::with_last_uses(KeysOfId keys) {
    std::vector<KeysOfId> one;
    one.push_back(std::move(keys));
    auto read = co_await with_last_uses(std::move(one));
    co_return std::move(read.front());
}

Task<std::vector<std::string>> KeyReader::digests_of(std::string id) {
    redis::Command command{"SMEMBERS", keys_.id(id)};
    const auto set = co_await run(database_, std::move(command));
    co_return set.texts();
}

Task<std::vector<StoredKey>> KeyReader::read(std::vector<std::string> digests) {
    auto found = co_await read_each(std::move(digests));
    std::ranges::stable_sort(found, is_before);
    co_return found;
}

/// The keys with these digests, in their order.
Task<std::vector<StoredKey>> KeyReader::read_each(std::vector<std::string> digests) {
    std::vector<Transaction> records(digests.size());
    for (std::size_t i = 0; i < digests.size(); ++i) {
        const auto name = keys_.key(digests[i]);
        records[i].commands = {{"HGETALL", name}, {"PTTL", name}};
        co_await Pause(database_);
    }
    auto all = co_await execute(database_, std::move(records));
    std::vector<StoredKey> found;
    found.reserve(digests.size());
    for (std::size_t i = 0; i < digests.size(); ++i) {
        const auto replies = std::exchange(all[i], std::nullopt).value();
        if (auto key = read_stored_key(digests[i], replies[0], replies[1])) {
            found.push_back(std::move(*key));
        }
        co_await Pause(database_);
    }
    co_return found;
}

Task<std::vector<StoredKey>> KeyReader::read(std::string id, std::vector<std::string> digests) {
    auto found = co_await read(std::move(digests));
    // The digest may have been reserved for another id in the meantime.
    std::erase_if(found, [&](const StoredKey& key) { return key.record.id != id; });
    co_return found;
}

OperationError unknown_id(std::string_view id) {
    return {Reason::kUnknownId, "unknown id \"" + std::string(id) + "\""};
}

}  // namespace tollgate::management
