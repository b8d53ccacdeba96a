#include "module/management/key_reader.hpp"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <iterator>
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

/// Whether two reads found the same of an id. The rest of a lifetime is not compared.
bool is_same_read(const StoredKey& a, const StoredKey& b) {
    return a.digest == b.digest && a.stored_fields == b.stored_fields &&
           a.record.retiring == b.record.retiring;
}

/// Adds the commands that read what Redis has under the name of a key, and its lifetime. No script
/// reads them: the user of `tollgate notify` may only read.
void add_reading(std::vector<redis::Command>& commands, std::string name) {
    commands.push_back(reading_of_any(name));
    commands.push_back({"PTTL", std::move(name)});
}

/// A rotation writes an id some ten times. It is over after so many reads, unless the next one has
/// begun again and again.
constexpr int kMostReads = 50;

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

Task<IdSnapshot> KeyReader::snapshot(std::string id) {
    std::vector<std::string> ids{std::move(id)};
    auto all = co_await snapshots(std::move(ids));
    co_return std::move(all.front());
}

Task<KeysOfId> KeyReader::all_keys(std::string id) {
    auto read = co_await snapshot(std::move(id));
    co_return std::move(read).with_pending();
}

Task<KeysOfId> KeyReader::find(std::string id) {
    auto read = co_await snapshot(id);
    auto keys = std::move(read).without_pending();
    if (keys.keys.empty()) {
        co_await require_id(id);
    }
    co_return keys;
}

Task<KeyPage> KeyReader::page(std::optional<ListCursor> after, std::size_t limit) {
    KeyPage page;
    page.places = co_await ids_.page(std::move(after), limit, page.has_more);
    std::vector<std::string> ids;
    std::ranges::transform(page.places, std::back_inserter(ids), &ListCursor::id);
    page.ids = co_await keys_of(std::move(ids));
    co_return page;
}

Task<std::vector<KeysOfId>> KeyReader::keys_of(std::vector<std::string> ids) {
    auto all = co_await snapshots(std::move(ids));
    std::vector<KeysOfId> keys;
    keys.reserve(all.size());
    for (IdSnapshot& one : all) {
        keys.push_back(std::move(one).without_pending());
    }
    co_return keys;
}

Task<std::vector<IdSnapshot>> KeyReader::snapshots(std::vector<std::string> ids) {
    std::vector<IdSnapshot> all;
    all.reserve(ids.size());
    std::vector<IdSnapshot*> unread;
    unread.reserve(ids.size());
    for (auto& id : ids) {
        all.push_back(IdSnapshot(std::move(id)));
        unread.push_back(&all.back());
    }
    for (int reads = 0; !unread.empty(); ++reads) {
        if (reads == kMostReads) {
            throw OperationError(
                Reason::kConcurrentChange,
                "other operations change \"" + unread.front()->id() + "\" again and again");
        }
        unread = co_await read_again(std::move(unread));
    }
    co_return all;
}

/// Reads each id again, with the digests that it had. Returns those that are no snapshot yet: the
/// set or one of the records is not what the read before has found.
Task<std::vector<IdSnapshot*>> KeyReader::read_again(std::vector<IdSnapshot*> ids) {
    const auto values = co_await read_sets_and_records(ids);
    auto next = values.begin();
    std::vector<IdSnapshot*> changed;
    for (IdSnapshot* const before : ids) {
        IdSnapshot read(before->id());
        read.digests_ = next->texts();
        ++next;
        auto& keys = read.keys_.keys;
        for (const auto& digest : before->digests_) {
            auto key = read_stored_key(digest, next[0], next[1]);
            next += 2;
            // The digest may have been reserved for another id since.
            if (key && key->is_key() && key->record.id == before->id()) {
                keys.push_back(std::move(*key));
                continue;
            }
            if (!key || !key->is_invalid) {
                read.ended_.push_back(digest);
            }
            read.others_.push_back(std::move(key).value_or(StoredKey{.digest = digest}));
        }
        std::ranges::stable_sort(keys, is_before);
        const bool is_confirmed = std::ranges::is_permutation(read.digests_, before->digests_) &&
                                  std::ranges::is_permutation(read.ended_, before->ended_) &&
                                  std::ranges::is_permutation(keys, before->keys(), is_same_read);
        *before = std::move(read);
        if (!is_confirmed) {
            changed.push_back(before);
        }
        co_await Pause(database_);
    }
    co_return changed;
}

/// The replies for each id: its set, and for each digest that it had the record and its lifetime.
Task<std::vector<redis::Value>> KeyReader::read_sets_and_records(std::vector<IdSnapshot*> ids) {
    std::vector<redis::Command> commands;
    commands.reserve(ids.size());
    for (const IdSnapshot* const id : ids) {
        commands.push_back({"SMEMBERS", keys_.id(id->id())});
        for (const auto& digest : id->digests_) {
            add_reading(commands, keys_.key(digest));
        }
        co_await Pause(database_);
    }
    co_return co_await run_all(database_, std::move(commands));
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
        const auto uses = replies[i].fields();
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
    auto found = co_await read_anything(std::move(digests));
    std::erase_if(found, [](const StoredKey& key) { return !key.is_key(); });
    std::ranges::stable_sort(found, is_before);
    co_return found;
}

Task<std::vector<StoredKey>> KeyReader::read_anything(std::vector<std::string> digests) {
    std::vector<redis::Command> commands;
    commands.reserve(2 * digests.size());
    for (const auto& digest : digests) {
        add_reading(commands, keys_.key(digest));
        co_await Pause(database_);
    }
    const auto values = co_await run_all(database_, std::move(commands));
    std::vector<StoredKey> found;
    found.reserve(digests.size());
    for (std::size_t i = 0; i < digests.size(); ++i) {
        if (auto key = read_stored_key(digests[i], values[2 * i], values[2 * i + 1])) {
            found.push_back(std::move(*key));
        }
        co_await Pause(database_);
    }
    co_return found;
}

OperationError unknown_id(std::string_view id) {
    return {Reason::kUnknownId, "unknown id \"" + std::string(id) + "\""};
}

}  // namespace tollgate::management
