#include "module/cli/keys/key_reader.hpp"

#include <algorithm>
#include <charconv>
#include <functional>
#include <iterator>
#include <map>
#include <optional>
#include <span>
#include <utility>

namespace tollgate::cli {

namespace {

// The number of ids that list() reads with one ZRANGE.
constexpr std::size_t kIdsPerRange = 500;

/// The position of an id in the sorted set of all ids. Redis sorts by score, then by bytes.
using Place = std::pair<double, std::string>;

std::vector<Place> places_of(const RedisReply& with_scores) {
    std::vector<Place> places;
    for (std::size_t i = 0; i + 1 < with_scores.elements.size(); i += 2) {
        const auto& score = with_scores.elements[i + 1].text;
        double number = 0;
        std::from_chars(score.data(), score.data() + score.size(), number);
        places.emplace_back(number, with_scores.elements[i].text);
    }
    return places;
}

/// The rank of a key among the keys of one id; read() sorts by it.
int rank_of(const StoredKey& key) {
    enum { kCurrent, kUnfinished, kReplaced, kRetiring, kPending };
    if (key.pending) {
        return kPending;
    }
    if (key.replaced) {
        return kReplaced;
    }
    if (key.retiring) {
        return kRetiring;
    }
    return key.is_unfinished() ? kUnfinished : kCurrent;
}

}  // namespace

void KeyReader::require_id(std::string_view id) {
    if (session_.run({"ZSCORE", keys_.ids(), std::string(id)}).is_nil() && digests_of(id).empty()) {
        throw unknown_id(id);
    }
}

KeysOfId KeyReader::find(std::string_view id) {
    auto keys = read(id, digests_of(id));
    std::erase_if(keys, std::mem_fn(&StoredKey::pending));
    if (keys.empty()) {
        require_id(id);
    }
    return {.id = std::string(id), .keys = std::move(keys)};
}

void KeyReader::list(const std::function<void(const std::vector<KeysOfId>&)>& pass) {
    std::optional<Place> last;
    for (std::size_t rank = 0;;) {
        const auto page =
            places_of(session_.run({"ZRANGE", keys_.ids(), std::to_string(rank),
                                    std::to_string(rank + kIdsPerRange), "WITHSCORES"}));
        // A page begins with the last id of the previous page. If it does not, ids were removed,
        // and later ids may have moved to an earlier page: go back one page.
        if (rank > 0 && (page.empty() || page.front() > *last)) {
            rank -= std::min(rank, kIdsPerRange);
            continue;
        }
        std::vector<std::string> ids;
        for (const auto& place : page) {
            if (!last || place > *last) {
                ids.push_back(place.second);
                last = place;
            }
        }
        if (!ids.empty()) {
            pass(keys_of(ids));
        }
        if (page.size() <= kIdsPerRange) {
            return;
        }
        rank += kIdsPerRange;
    }
}

/// Reads all keys of these ids in two round trips.
std::vector<KeysOfId> KeyReader::keys_of(std::span<const std::string> ids) {
    std::vector<RedisCommand> commands;
    for (const auto& id : ids) {
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
    std::vector<KeysOfId> all;
    for (const auto& id : ids) {
        all.push_back({.id = id, .keys = std::move(found[id])});
    }
    return all;
}

std::vector<std::string> KeyReader::digests_of(std::string_view id) {
    return session_.run({"SMEMBERS", keys_.id(id)}).texts();
}

std::vector<StoredKey> KeyReader::read(const std::vector<std::string>& digests) {
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
        return std::pair(rank_of(a), b.created) < std::pair(rank_of(b), a.created);
    });
    return keys;
}

std::vector<StoredKey> KeyReader::read(std::string_view id,
                                       const std::vector<std::string>& digests) {
    auto keys = read(digests);
    // The digest may have been reserved for another id in the meantime.
    std::erase_if(keys, [&](const StoredKey& key) { return key.record.id != id; });
    return keys;
}

Failure unknown_id(std::string_view id) {
    return {ExitStatus::kUnknownId,
            "unknown id \"" + std::string(id) + "\": see tollgate key list"};
}

}  // namespace tollgate::cli
