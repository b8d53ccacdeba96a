#include <algorithm>
#include <iterator>
#include <set>
#include <thread>
#include <type_traits>
#include <utility>

#include "module/cli/redis/masters.hpp"
#include "module/redis/protocol/error_scope.hpp"
#include "module/redis/topology/cluster_slots.hpp"
#include "module/redis/topology/key_slot.hpp"
#include "module/redis/topology/redirection.hpp"
#include "module/redis/topology/slot_map.hpp"

namespace tollgate::cli {

namespace {

using redis::CallRetries;
using redis::ErrorAction;
using Clock = std::chrono::steady_clock;

/// Waits before the next attempt. Returns false if there is none.
bool waits_for_next(CallRetries& retries, ErrorAction action) {
    const auto next = retries.next(action, Clock::now());
    if (next.kind == CallRetries::Next::Kind::kSendAt) {
        std::this_thread::sleep_until(next.at);
    }
    return next.kind != CallRetries::Next::Kind::kGiveUp;
}

std::optional<redis::ServerAddress> owner_of(const redis::SlotMap& map, redis::Slot slot) {
    const auto index = map.master_of(slot);
    return index ? std::optional(map.masters()[*index]) : std::nullopt;
}

redis::SlotsByServer by_server(const SlotsByMaster& used) {
    redis::SlotsByServer slots;
    for (const auto& [master, of_master] : used) {
        slots[master->server().address].insert(of_master.begin(), of_master.end());
    }
    return slots;
}

/// The slot map of a server, over a connection of its own: the server may hang.
std::optional<redis::SlotMap> map_of(const RedisUrl& url, const redis::ServerAddress& server) {
    try {
        RedisConnection connection({.address = server}, url.login, url.tls, kWitnessTimeout);
        connection.append(redis::Command{"CLUSTER", "SLOTS"});
        return redis::read_cluster_slots(*connection.receive(), server.host).map;
    } catch (const Failure&) {
        return std::nullopt;
    }
}

/// The masters of a Redis Cluster.
class ClusterMasters final : public Masters {
  public:
    explicit ClusterMasters(RedisUrl url) : url_(std::move(url)) { require_map(); }

    Route route(std::optional<std::string_view> key) override {
        require_map();
        CallRetries retries(Clock::now() + kSearchTime);
        return route(key, retries);
    }

    std::optional<Route> next_route(const Route& asked, std::optional<std::string_view> key,
                                    const std::string& error, CallRetries& retries) override {
        const auto action = redis::error_action(error);
        if (!waits_for_next(retries, action)) {
            return std::nullopt;
        }
        if (action == ErrorAction::kRetryLater) {
            return asked;
        }
        if (action == ErrorAction::kMoved || action == ErrorAction::kAsk) {
            if (auto route = redirected(asked, error, action == ErrorAction::kAsk)) {
                return route;
            }
            if (!waits_for_next(retries, ErrorAction::kRediscover)) {
                return std::nullopt;
            }
        }
        refresh();
        return route(key, retries);
    }

    /// Only if the keys are the same: while a slot migrates, a transaction with two keys of it may
    /// fail until the end of the migration (TRYAGAIN).
    bool may_span(std::string_view key, std::string_view other) const override {
        return key == other;
    }

    std::vector<RedisConnection*> all() override {
        require_map();
        CallRetries retries(Clock::now() + kSearchTime);
        return reach(retries, [&] {
            const std::set<Address> masters(map_.masters().begin(), map_.masters().end());
            std::vector<RedisConnection*> all;
            all.reserve(masters.size());
            for (const auto& master : masters) {
                all.push_back(&connection(master));
            }
            return all;
        });
    }

    management::Electors electors() const override { return management::Electors::kMasters; }
    std::optional<Presence> ask_presence(const SlotsByMaster& used, bool is_last) override {
        const auto slots = by_server(used);
        std::size_t agreeing = 0;
        std::size_t disagreeing = 0;
        for (const auto& server : map_.masters()) {
            if (const auto map = map_of(url_, server)) {
                ++(redis::is_master_of_all(*map, slots) ? agreeing : disagreeing);
            }
        }
        return redis::agree_on_slots(map_.masters().size(), agreeing, disagreeing, is_last);
    }

    bool reconnect() override {
        connections_.clear();
        retired_.clear();
        const auto before = std::exchange(map_, {});
        require_map();
        for (redis::Slot slot = 0; slot < redis::kSlots; ++slot) {
            if (owner_of(before, slot) != owner_of(map_, slot)) {
                return true;
            }
        }
        return false;
    }

  private:
    using Address = redis::ServerAddress;

    RedisConnection& connection(const Address& address) {
        auto& known = connections_[address];
        if (known == nullptr) {
            known = std::make_unique<RedisConnection>(NamedServer{.address = address}, url_.login,
                                                      url_.tls);
        }
        return *known;
    }

    /// Calls `connect` until it reaches a master. While none can be reached, reads the slot map
    /// again: a failover may be under way.
    template <typename Connect>
    std::invoke_result_t<Connect> reach(CallRetries& retries, const Connect& connect) {
        while (true) {
            try {
                return connect();
            } catch (const LoginRefused&) {
                throw;
            } catch (const Failure&) {
                if (!waits_for_next(retries, ErrorAction::kRediscover)) {
                    throw;
                }
            }
            refresh();
        }
    }

    Route route(std::optional<std::string_view> key, CallRetries& retries) {
        return reach(retries, [&] {
            const auto master =
                key ? owner_of(map_, redis::key_slot(*key)) : map_.masters().front();
            if (!master) {
                throw Failure(ExitStatus::kRedis, "no master serves a slot of the cluster");
            }
            return Route{&connection(*master)};
        });
    }

    /// The way that MOVED or ASK names. Nothing if it is not usable: the map must be read again.
    std::optional<Route> redirected(const Route& asked, const std::string& error, bool asking) {
        const auto to = redis::read_redirection(error, asked.master->server().address.host);
        if (!to) {
            return std::nullopt;
        }
        try {
            Route route{.master = &connection(to->server), .asking = asking};
            if (!asking) {
                map_.assign(to->slot, to->server);
            }
            return route;
        } catch (const LoginRefused&) {
            throw;
        } catch (const Failure&) {
            return std::nullopt;
        }
    }

    /// Reads the slot map if there is none. Throws Failure if no server has one.
    void require_map() {
        const auto problem = map_.masters().empty() ? refresh() : std::string();
        if (!problem.empty()) {
            throw Failure(ExitStatus::kRedis, "no server of the cluster is usable: " + problem);
        }
    }

    /// Reads the slot map again: from a master, otherwise from a server of the URL. Returns the
    /// last problem if no server has a usable map; empty if the map was read.
    std::string refresh() {
        std::vector<Address> servers(map_.masters().begin(), map_.masters().end());
        std::ranges::copy(url_.servers, std::back_inserter(servers));
        std::string problem;
        std::set<Address> asked;
        for (const auto& server : servers) {
            if (!asked.insert(server).second) {
                continue;
            }
            try {
                problem = read_map_from(server);
                if (problem.empty()) {
                    break;
                }
            } catch (const LoginRefused&) {
                throw;
            } catch (const Failure& failure) {
                problem = failure.what();
                if (auto& failed = connections_[server]; failed != nullptr) {
                    retired_.push_back(std::move(failed));
                }
            }
        }
        return problem;
    }

    std::string read_map_from(const Address& server) {
        auto& asked = connection(server);
        asked.append(redis::Command{"CLUSTER", "SLOTS"});
        const auto reply = asked.receive();
        auto slots = redis::read_cluster_slots(*reply, server.host);
        if (slots.map) {
            map_ = std::move(*slots.map);
            return {};
        }
        const auto reason = reply->type == REDIS_REPLY_ERROR ? redis::text_of(*reply)
                                                             : std::string_view(slots.error);
        return "Redis at " + to_text(server) + " has no slot map: " + std::string(reason);
    }

    RedisUrl url_;
    redis::SlotMap map_;
    std::map<Address, std::unique_ptr<RedisConnection>> connections_;
    std::vector<std::unique_ptr<RedisConnection>> retired_;  ///< failed: a Route may point there
};

}  // namespace

std::unique_ptr<Masters> connect_to_cluster(const RedisUrl& url) {
    return std::make_unique<ClusterMasters>(url);
}

}  // namespace tollgate::cli
