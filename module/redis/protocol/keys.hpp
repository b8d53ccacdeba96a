#pragma once

#include <array>
#include <string>
#include <string_view>

namespace tollgate::redis {

/// The names of all Redis keys of Tollgate, after the prefix of `tollgate_redis`. All quota keys of
/// one request have the same `{ID}` hash tag, so that one script can decide it on a cluster.
class Keys {
  public:
    explicit Keys(std::string prefix) : prefix_(std::move(prefix)) {}

    std::string key(std::string_view digest) const {
        return prefix_ + "key:" + std::string(digest);
    }
    std::string id(std::string_view id) const { return tagged("id:", id); }
    std::string ids() const { return prefix_ + "ids"; }
    std::string quota(std::string_view id, std::string_view table) const {
        std::string key;
        for (const auto part : quota_parts(id, table)) {
            key += part;
        }
        return key;
    }
    /// The parts of quota(), without an allocation: every request that Redis decides needs them.
    std::array<std::string_view, 5> quota_parts(std::string_view id, std::string_view table) const {
        return {prefix_, "quota:{", id, "}:", table};
    }
    /// Stores the number of the last report of a node that was applied to a quota.
    std::string report(std::string_view id, std::string_view table, std::string_view node) const {
        return tagged("report:", id).append(":").append(table).append(":").append(node);
    }
    std::string ban(std::string_view id) const { return tagged("ban:", id); }
    std::string probe() const { return prefix_ + "probe"; }
    std::string plans() const { return prefix_ + "plans"; }
    std::string events() const { return prefix_ + "events"; }

  private:
    std::string tagged(std::string_view kind, std::string_view id) const {
        return std::string(prefix_).append(kind).append("{").append(id).append("}");
    }

    std::string prefix_;
};

}  // namespace tollgate::redis
