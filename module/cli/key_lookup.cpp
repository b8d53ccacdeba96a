#include "module/cli/key_lookup.hpp"

#include <algorithm>
#include <functional>
#include <iterator>
#include <map>
#include <span>
#include <utility>

namespace tollgate::cli {

namespace {

// How many ids one round trip of `list` asks for.
constexpr std::size_t kBatch = 500;

}  // namespace

void KeyLookup::require_id(std::string_view id) {
    if (session_.run({"ZSCORE", keys_.ids(), std::string(id)}).is_nil() && digests_of(id).empty()) {
        throw unknown_id(id);
    }
}

KeysOfId KeyLookup::find(std::string_view id) {
    auto keys = read(digests_of(id));
    std::erase_if(keys, std::mem_fn(&StoredKey::pending));
    if (keys.empty()) {
        require_id(id);
    }
    return {.id = std::string(id), .keys = std::move(keys)};
}

std::vector<KeysOfId> KeyLookup::list() {
    std::vector<KeysOfId> all;
    const auto ids = session_.run({"ZRANGE", keys_.ids(), "0", "-1"}).texts();
    for (std::size_t begin = 0; begin < ids.size(); begin += kBatch) {
        const auto batch = std::span(ids).subspan(begin, std::min(kBatch, ids.size() - begin));
        std::vector<RedisCommand> commands;
        for (const auto& id : batch) {
            commands.push_back({"SMEMBERS", keys_.id(id)});
        }
        std::vector<std::string> digests;
        for (const auto& reply : session_.run_all(commands)) {
            std::ranges::move(reply.texts(), std::back_inserter(digests));
        }
        std::map<std::string, std::vector<StoredKey>> found;
        for (auto& key : read(digests)) {
            if (!key.pending) {
                found[key.record.id].push_back(std::move(key));
            }
        }
        for (const auto& id : batch) {
            all.push_back({.id = id, .keys = std::move(found[id])});
        }
    }
    return all;
}

std::vector<std::string> KeyLookup::digests_of(std::string_view id) {
    return session_.run({"SMEMBERS", keys_.id(id)}).texts();
}

std::vector<StoredKey> KeyLookup::read(const std::vector<std::string>& digests) {
    std::vector<RedisCommand> commands;
    for (const auto& digest : digests) {
        commands.push_back({"HGETALL", keys_.key(digest)});
        commands.push_back({"PTTL", keys_.key(digest)});
    }
    const auto replies = session_.run_all(commands);
    std::vector<StoredKey> keys;
    for (std::size_t i = 0; i < digests.size(); ++i) {
        if (auto key = read_stored_key(digests[i], replies[2 * i], replies[2 * i + 1])) {
            keys.push_back(std::move(*key));
        }
    }
    std::ranges::stable_sort(keys, [](const StoredKey& a, const StoredKey& b) {
        return a.retiring != b.retiring ? b.retiring : a.created > b.created;
    });
    return keys;
}

Failure unknown_id(std::string_view id) {
    return {ExitStatus::kUnknownId, "unknown id \"" + std::string(id) + "\""};
}

}  // namespace tollgate::cli
