#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "module/cli/failure.hpp"
#include "module/cli/keys/stored_key.hpp"
#include "module/cli/redis/redis_session.hpp"
#include "module/redis/protocol/keys.hpp"

namespace tollgate::cli {

/// Finds keys in Redis; changes nothing.
class KeyReader {
  public:
    /// Both must outlive the look-up.
    KeyReader(RedisSession& session, const redis::Keys& keys) : session_(session), keys_(keys) {}

    /// Throws ExitStatus::kUnknownId for an id that isn't there.
    void require_id(std::string_view id);

    /// The keys of one id. Throws ExitStatus::kUnknownId for an id that isn't there.
    KeysOfId find(std::string_view id);

    /// Passes all keys, the oldest id first, in pages of some hundred ids. An id that is there from
    /// the first page to the last is passed exactly once, whatever is added or removed meanwhile.
    void list(const std::function<void(const std::vector<KeysOfId>&)>& pass);

    /// What the set of an id names; a digest in it may have ended.
    std::vector<std::string> digests_of(std::string_view id);

    /// The keys with these digests, the current ones first, then unfinished, replaced, retiring and
    /// pending ones. Those that have ended are left out.
    std::vector<StoredKey> read(const std::vector<std::string>& digests);

    /// The same without keys of other ids.
    std::vector<StoredKey> read(std::string_view id, const std::vector<std::string>& digests);

  private:
    std::vector<KeysOfId> keys_of(std::span<const std::string> ids);

    RedisSession& session_;
    const redis::Keys& keys_;
};

/// What to throw for an id that isn't there.
Failure unknown_id(std::string_view id);

}  // namespace tollgate::cli
