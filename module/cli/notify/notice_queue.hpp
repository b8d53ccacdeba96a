#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "module/cli/redis/redis_session.hpp"
#include "module/redis/protocol/value.hpp"

namespace tollgate::cli {

/// A member of the consumer group of `notices`.
struct NoticeMember {
    std::string name;
    std::int64_t pending = 0;          ///< entries that belong to it
    std::chrono::milliseconds idle{};  ///< since it last got an entry, or asked for one
};

/// The members of the group, also those that have left. None if there is no group. Throws Failure.
std::vector<NoticeMember> notice_members(RedisSession& session);

/// The stream `notices`, and the consumer group whose members deliver its entries: each entry
/// belongs to one member, until it is removed. All functions throw Failure as those of
/// RedisSession.
class NoticeQueue {
  public:
    /// The group of all `tollgate notify`.
    static constexpr const char* kGroup = "tollgate";
    /// Members take entries of others that were not renewed for this time: these members have died.
    static constexpr std::chrono::milliseconds kAbandoned{30'000};

    /// `session` must outlive the object. `member` is a name that no other member has.
    NoticeQueue(RedisSession& session, std::string member);

    /// Makes the stream and the group, unless they exist, and removes members that have left.
    void join();

    /// Appends an entry with these fields and values.
    void append(const std::vector<std::string>& fields);

    /// An entry that no member has yet: it belongs to this one now. Waits up to `time` for one, or
    /// not. Nothing if there is none.
    std::vector<redis::Value> next(std::chrono::milliseconds time);

    /// Entries that members have abandoned, which belong to this one now, at most `count`. Some may
    /// be its own, and some may be in no stream any more: these have no elements.
    std::vector<redis::Value> abandoned(std::size_t count);

    /// Tells the other members that this one still has these entries.
    void renew(const std::vector<std::string>& entries);

    /// Removes an entry.
    void remove(const std::string& entry);

    /// Whether the gateways of a cluster append to a stream per slot: see redis::Keys::notices_of.
    bool is_apart() const;
    /// Moves some entries of these streams to `notices`. Returns false after the last ones. An
    /// entry that two members move at the same time, or that is moved in part, has a copy.
    bool collect();

    /// The number of entries that no member has yet.
    std::int64_t waiting();

  private:
    std::vector<std::string> filled_streams();

    RedisSession& session_;
    std::string member_;
    std::string stream_;
    std::vector<redis::Command> lengths_;  ///< of the streams of all slots
    std::vector<std::string> filled_;      ///< the streams of slots that collect() has not emptied
    std::string abandoned_from_ = "0-0";
};

}  // namespace tollgate::cli
