#include "module/redis/io/sentinel_watch.hpp"

#include <cstddef>
#include <string>
#include <utility>

namespace tollgate::redis {

/// Each Sentinel is in one of two lists, so that the subscriptions are at different Sentinels.
void SentinelWatch::follow(const SocketAddresses& sentinels) {
    std::array<SocketAddresses, 2> lists;
    for (std::size_t i = 0; i < sentinels.size(); ++i) {
        lists[i % 2].push_back(sentinels[i]);
    }
    for (std::size_t i = 0; i < lists.size(); ++i) {
        Watch& watch = watches_[i];
        const bool is_empty = lists[i].empty();
        watch.sentinels = std::move(lists[i]);
        if (is_empty) {
            watch.subscription.reset();
        } else if (watch.subscription) {
            watch.subscription->follow_addresses();
        } else {
            watch.subscription.emplace(access_, watch.sentinels, std::string("+switch-master"),
                                       "failovers are noticed later", listener_);
        }
    }
}

}  // namespace tollgate::redis
