#include "module/management/key_version.hpp"

#include <cstddef>

#include "module/key/digest.hpp"
#include "module/redis/protocol/redis_time.hpp"

namespace tollgate::management {

std::string version_of(const StoredKey& key) {
    constexpr std::size_t kDigits = 32;
    StoredKey shown = key;
    shown.operation.clear();
    auto commands = write_stored_key(key.digest, shown);
    commands.push_back({redis::unix_time(key.created)});
    // With its length before each word, different records have different texts.
    std::string text;
    for (const auto& command : commands) {
        for (const auto& word : command) {
            text.append(std::to_string(word.size())).append(":").append(word);
        }
    }
    return hex(sha256(text)).substr(0, kDigits);
}

std::optional<std::string> version_of(const KeysOfId& keys) {
    return keys.keys.empty() ? std::nullopt : std::optional(version_of(keys.keys.front()));
}

}  // namespace tollgate::management
