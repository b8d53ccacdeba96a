#include "module/http/management/worker_deployment.hpp"

#include <chrono>
#include <iterator>
#include <utility>

#include "module/http/management/inquiry.hpp"
#include "module/redis/protocol/script.hpp"
#include "module/redis/topology/cluster_slots.hpp"
#include "module/redis/topology/sentinel_replies.hpp"
#include "module/redis/topology/sentinel_search.hpp"

namespace tollgate::http {

namespace {

using namespace std::chrono_literals;
using management::Answer;
using management::Electors;
using management::NoAnswer;
using management::Task;
using redis::Presence;

/// How long a server may take to answer, from the beginning of the connection.
constexpr std::chrono::milliseconds kAnswerTimeout = 1s;
/// How long a server may take to answer with the slot map, from the beginning of the connection.
constexpr std::chrono::milliseconds kSlotsTimeout = 500ms;

std::vector<redis::SocketAddresses> addresses_of(const Electorate& electorate) {
    std::vector<redis::SocketAddresses> all;
    for (const redis::Server& server : electorate.servers) {
        all.push_back(server.addresses);
    }
    return all;
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

}  // namespace

WorkerDeployment::WorkerDeployment(RedisClient& transport, const UsedServers& used)
    : transport_(transport), used_(used) {
    for (const auto& [name, server] : used) {
        slots_.emplace(name, server.slots);
    }
}

const UsedServer& WorkerDeployment::server_at(std::size_t index) const {
    return std::next(used_.begin(), static_cast<std::ptrdiff_t>(index))->second;
}

/// Sends commands to a used server. The replies to the first ones that it answered in time.
Task<std::vector<redis::Value>> WorkerDeployment::ask(std::size_t server,
                                                      std::vector<redis::Words> commands,
                                                      std::chrono::milliseconds timeout) {
    std::vector<redis::Value> replies;
    Inquiry inquiry(transport_.access(), {server_at(server).addresses}, std::move(commands),
                    timeout, [&](std::size_t /*server*/, const redisReply& reply) {
                        replies.push_back(redis::copy_of(reply));
                    });
    co_await inquiry.ask();
    co_return replies;
}

Task<Answer> WorkerDeployment::ask_role(std::size_t server) {
    std::vector role{redis::Words{"ROLE"}};
    auto replies = co_await ask(server, std::move(role), kAnswerTimeout);
    if (replies.empty()) {
        co_return NoAnswer::kSilent;
    }
    co_return std::move(replies.front());
}

Task<Answer> WorkerDeployment::await_replica(std::size_t server) {
    // WAIT waits for the last write of its connection, and so for all that precede it. Without the
    // write of the script, it would not wait: its reply counts after an array only.
    redis::Words write{"EVAL", redis::probe_script().text, "1"};
    write.add(transport_.probe_key(*server_at(server).slots.begin()));
    write.add("");
    redis::Words wait{"WAIT", "1"};
    wait.add(management::kReplicaTimeout.count());
    std::vector commands{std::move(write), std::move(wait)};
    auto replies =
        co_await ask(server, std::move(commands), kAnswerTimeout + management::kReplicaTimeout);
    if (!replies.empty() && replies.front().kind != redis::Value::Kind::kArray) {
        co_return std::move(replies.front());
    }
    constexpr std::size_t kBoth = 2;
    if (replies.size() < kBoth) {
        co_return NoAnswer::kSilent;
    }
    co_return std::move(replies.back());
}

Electors WorkerDeployment::electors() {
    electorate_.reset();
    auto electorate = transport_.electorate();
    if (!electorate) {
        return Electors::kNone;
    }
    electorate_.emplace(std::move(*electorate));
    return electorate_->master_name.empty() ? Electors::kMasters : Electors::kSentinels;
}

Task<std::optional<Presence>> WorkerDeployment::ask_presence(bool is_last) {
    if (electorate_->master_name.empty()) {
        return ask_masters(*electorate_, slots_, is_last);
    }
    return ask_sentinels(*electorate_, slots_.begin()->first);
}

}  // namespace tollgate::http
