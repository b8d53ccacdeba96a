#include "module/http/management/acknowledgement.hpp"

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>
#include <vector>

#include "module/http/management/inquiry.hpp"
#include "module/redis/protocol/error_scope.hpp"
#include "module/redis/protocol/script.hpp"
#include "module/redis/topology/cluster_slots.hpp"
#include "module/redis/topology/presence.hpp"
#include "module/redis/topology/sentinel_replies.hpp"
#include "module/redis/topology/sentinel_search.hpp"

namespace tollgate::http {

namespace {

using namespace std::chrono_literals;
using management::Durability;
using management::Task;
using redis::Presence;
using Clock = std::chrono::steady_clock;

/// How long a server may take to answer, from the beginning of the connection.
constexpr std::chrono::milliseconds kAnswerTimeout = 1s;
/// How long a server may take to answer with the slot map, from the beginning of the connection.
constexpr std::chrono::milliseconds kSlotsTimeout = 500ms;
/// The limit of WAIT.
constexpr std::chrono::milliseconds kReplicaTimeout = 1s;
/// How long Sentinels are asked while one of them promotes a replica, and masters of a cluster
/// while they disagree.
constexpr std::chrono::milliseconds kFailoverTime = 5s;
constexpr std::chrono::milliseconds kAgreementTime = 1s;
constexpr std::chrono::milliseconds kBetweenQuestions = 100ms;

std::vector<redis::SocketAddresses> addresses_of(const Electorate& electorate) {
    std::vector<redis::SocketAddresses> all;
    for (const redis::Server& server : electorate.servers) {
        all.push_back(server.addresses);
    }
    return all;
}

/// Reads a reply to ROLE. Nothing if the master has replicas: WAIT tells what they have.
std::optional<Durability> read_replication(const redisReply& reply) {
    constexpr std::size_t kReplicas = 2;
    switch (redis::read_role(reply)) {
        case redis::Role::kMaster:
            break;
        case redis::Role::kReplica:
            return Durability::kUndone;
        case redis::Role::kForbidden:
            return Durability::kForbidden;
        default:
            return Durability::kUnverified;
    }
    const bool has_replicas = reply.elements <= kReplicas || reply.element[kReplicas]->elements > 0;
    return has_replicas ? std::nullopt : std::optional(Durability::kConfirmed);
}

/// Reads the replies to the script, which is an array, and to WAIT.
class WaitReader {
  public:
    void read(const redisReply& reply) {
        if (is_read_) {
            return;
        }
        is_read_ = reply.type != REDIS_REPLY_ARRAY;
        if (reply.type == REDIS_REPLY_INTEGER) {
            durability_ = reply.integer > 0 ? Durability::kConfirmed : Durability::kUnconfirmed;
        } else if (reply.type == REDIS_REPLY_ERROR && redis::is_denied(redis::text_of(reply))) {
            durability_ = Durability::kForbidden;
        }
    }
    Durability durability() const { return durability_; }

  private:
    // Without the write of the script, WAIT would not wait: its reply counts after an array only.
    bool is_read_ = false;
    Durability durability_ = Durability::kUnverified;
};

/// Whether a replica of the server has what was written before. A server that does not answer may
/// have lost its role, or be busy: find_presence() tells.
Task<Durability> confirm_by_replica(RedisClient& transport, UsedServer server) {
    std::optional<Durability> durability = Durability::kUnverified;
    std::vector role{redis::Words{"ROLE"}};
    Inquiry inquiry(transport.access(), {server.addresses}, std::move(role), kAnswerTimeout,
                    [&](std::size_t /*server*/, const redisReply& reply) {
                        durability = read_replication(reply);
                    });
    co_await inquiry.ask();
    if (durability) {
        co_return *durability;
    }
    // WAIT waits for the last write of its connection, and so for all that precede it.
    redis::Words write{"EVAL", redis::probe_script().text, "1"};
    write.add(transport.probe_key(*server.slots.begin()));
    write.add("");
    redis::Words wait{"WAIT", "1"};
    wait.add(kReplicaTimeout.count());
    WaitReader reader;
    std::vector commands{std::move(write), std::move(wait)};
    Inquiry replicas(transport.access(), {server.addresses}, std::move(commands),
                     kAnswerTimeout + kReplicaTimeout,
                     [&](std::size_t /*server*/, const redisReply& reply) { reader.read(reply); });
    co_await replicas.ask();
    co_return reader.durability();
}

/// Reads the two replies of a Sentinel.
void read_sentinel(const redisReply& reply, std::optional<redis::MasterState>& state,
                   std::vector<redis::MasterState>& answers) {
    if (!state) {
        state = redis::read_master_state(reply);
    } else if (auto address = redis::read_master_address(reply)) {
        answers.push_back(*state);
        answers.back().address = std::move(*address);
    }
}

/// Asks all Sentinels once.
Task<std::optional<Presence>> ask_sentinels(const Electorate& electorate,
                                            const redis::ServerAddress& master) {
    using Question = redis::SentinelSearch::Question;
    std::vector<redis::MasterState> answers;
    std::vector<std::optional<redis::MasterState>> states(electorate.servers.size());
    std::vector commands{sentinel_command(Question::kState, electorate.master_name),
                         sentinel_command(Question::kAddress, electorate.master_name)};
    Inquiry inquiry(electorate.access, addresses_of(electorate), std::move(commands),
                    kAnswerTimeout, [&](std::size_t server, const redisReply& reply) {
                        read_sentinel(reply, states[server], answers);
                    });
    co_await inquiry.ask();
    co_return redis::agree_on_master(answers, electorate.servers.size(), master).presence;
}

/// Asks all masters of a cluster once.
Task<std::optional<Presence>> ask_masters(const Electorate& electorate,
                                          const redis::SlotsByServer& used, bool is_last) {
    std::size_t agreeing = 0;
    std::size_t disagreeing = 0;
    std::vector commands{redis::Words{"CLUSTER", "SLOTS"}};
    Inquiry inquiry(
        electorate.access, addresses_of(electorate), std::move(commands), kSlotsTimeout,
        [&](std::size_t server, const redisReply& reply) {
            const auto& host = electorate.servers[server].name.host;
            if (const auto map = redis::read_cluster_slots(reply, host).map) {
                ++(redis::is_master_of_all(*map, used) ? agreeing : disagreeing);
            }
        },
        redis::kClusterSlotsLimits);
    co_await inquiry.ask();
    co_return redis::agree_on_slots(electorate.servers.size(), agreeing, disagreeing, is_last);
}

/// Whether these servers are still the masters.
Task<Presence> find_presence(management::Database& database, RedisClient& transport,
                             redis::SlotsByServer used) {
    const auto start = Clock::now();
    const auto electorate = transport.electorate();
    if (!electorate || used.empty()) {
        co_return Presence::kPresent;
    }
    const bool is_cluster = electorate->master_name.empty();
    if (!is_cluster && used.size() > 1) {
        co_return Presence::kReplaced;
    }
    const auto limit = is_cluster ? kAgreementTime : kFailoverTime;
    while (true) {
        const bool is_last = Clock::now() - start >= limit;
        std::optional<Presence> presence;
        if (is_cluster) {
            presence = co_await ask_masters(*electorate, used, is_last);
        } else {
            presence = co_await ask_sentinels(*electorate, used.begin()->first);
        }
        if (presence || is_last) {
            co_return presence.value_or(Presence::kUnknown);
        }
        co_await management::wait(database, kBetweenQuestions);
    }
}

}  // namespace

Task<Durability> acknowledge_changes(management::Database& database, RedisClient& transport,
                                     UsedServers used) {
    auto durability = Durability::kConfirmed;
    redis::SlotsByServer slots;
    for (const auto& [name, server] : used) {
        slots.emplace(name, server.slots);
        if (durability != Durability::kUndone) {
            const auto confirmed = co_await confirm_by_replica(transport, server);
            durability = std::max(durability, confirmed);
        }
    }
    if (durability != Durability::kUndone) {
        const auto presence = co_await find_presence(database, transport, std::move(slots));
        if (presence == Presence::kReplaced) {
            durability = Durability::kUndone;
        } else if (presence == Presence::kUnknown) {
            durability = std::max(durability, Durability::kUnverified);
        }
    }
    if (durability == Durability::kUndone) {
        transport.search_masters();
    }
    co_return durability;
}

}  // namespace tollgate::http
