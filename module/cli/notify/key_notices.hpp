#pragma once

#include <cstddef>
#include <optional>

#include "module/cli/notify/notice_queue.hpp"
#include "module/cli/redis/redis_session.hpp"
#include "module/management/id_list.hpp"
#include "module/management/key_reader.hpp"

namespace tollgate::cli {

/// Finds keys that expire in 30, 7 or 1 days, and appends a notice of each to the queue.
class KeyNotices {
  public:
    /// Both must outlive the object.
    KeyNotices(RedisSession& session, NoticeQueue& queue)
        : session_(session), queue_(queue), reader_(session, session.keys()) {}

    /// Examines the next ids. Returns false after the last ones: the next call begins again. Throws
    /// Failure.
    bool examine_some();

  private:
    RedisSession& session_;
    NoticeQueue& queue_;
    management::KeyReader reader_;
    std::optional<management::ListCursor> place_;
};

/// The number of days, of 30, 7 and 1, for which a key is still valid at most. Empty if it is none:
/// the key does not expire, is not in use, or its id was issued less than that number of days
/// before.
std::optional<int> days_left(const management::StoredKey& key, std::chrono::sys_seconds now);

}  // namespace tollgate::cli
