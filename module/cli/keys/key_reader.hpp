#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "module/cli/failure.hpp"
#include "module/cli/keys/stored_key.hpp"
#include "module/cli/redis/redis_session.hpp"
#include "module/redis/protocol/schema.hpp"

namespace tollgate::cli {

/// Reads keys from Redis. It writes nothing. All functions throw Failure.
class KeyReader {
  public:
    /// `session` and `keys` must outlive the object.
    KeyReader(RedisSession& session, const redis::Keys& keys) : session_(session), keys_(keys) {}

    /// Throws ExitStatus::kUnknownId if the id does not exist.
    void require_id(std::string_view id);

    /// The keys of one id, without pending ones. Throws ExitStatus::kUnknownId if the id does not
    /// exist.
    KeysOfId find(std::string_view id);

    /// Passes all ids and their keys to `pass`, the oldest id first, in pages of up to 501 ids. An
    /// id that exists from the first page to the last is passed exactly once, even if other ids
    /// are added or removed at the same time.
    void list(const std::function<void(const std::vector<KeysOfId>&)>& pass);

    /// The digests in the set of an id. Keys of some of them may have expired.
    std::vector<std::string> digests_of(std::string_view id);

    /// The keys with these digests: current keys first, then unfinished, replaced, retiring and
    /// pending ones. Digests without a key are skipped.
    std::vector<StoredKey> read(const std::vector<std::string>& digests);

    /// The same, without keys that belong to another id.
    std::vector<StoredKey> read(std::string_view id, const std::vector<std::string>& digests);

  private:
    std::vector<KeysOfId> keys_of(std::span<const std::string> ids);

    RedisSession& session_;
    const redis::Keys& keys_;
};

/// The failure for an id that does not exist.
Failure unknown_id(std::string_view id);

}  // namespace tollgate::cli
