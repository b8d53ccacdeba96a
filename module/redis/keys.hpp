#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace tollgate::redis {

/// The names of everything that Tollgate keeps in one Redis, after the prefix of `tollgate_redis`.
/// All that one request's quotas touch shares the `{ID}` hash tag, so that one script decides it on
/// a cluster too.
class Keys {
  public:
    explicit Keys(std::string prefix) : prefix_(std::move(prefix)) {}

    std::string key(std::string_view digest) const {
        return prefix_ + "key:" + std::string(digest);
    }
    std::string id(std::string_view id) const { return tagged("id:", id); }
    std::string ids() const { return prefix_ + "ids"; }
    std::string quota(std::string_view id, std::string_view table) const {
        return tagged("quota:", id, 1 + table.size()).append(":").append(table);
    }
    std::string ban(std::string_view id) const { return tagged("ban:", id); }
    std::string events() const { return prefix_ + "events"; }

  private:
    /// With room for so much behind it: each request has one made.
    std::string tagged(std::string_view kind, std::string_view id, std::size_t room = 0) const {
        std::string key;
        key.reserve(prefix_.size() + kind.size() + id.size() + 2 + room);
        return key.append(prefix_).append(kind).append("{").append(id).append("}");
    }

    std::string prefix_;
};

}  // namespace tollgate::redis
