#include "module/cli/redis/sentinel_agreement.hpp"

#include <chrono>
#include <thread>
#include <utility>
#include <vector>

#include "module/cli/failure.hpp"
#include "module/cli/redis/masters.hpp"
#include "module/cli/redis/redis_connection.hpp"
#include "module/redis/topology/sentinel_replies.hpp"
#include "module/redis/topology/sentinel_search.hpp"

namespace tollgate::cli {

namespace {

using redis::SentinelSearch;
using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kTimeout{1000};
constexpr std::chrono::milliseconds kPause{100};

/// The state and the address: see redis::agree_on_master().
std::optional<redis::MasterState> ask(const RedisUrl& url, const redis::ServerAddress& sentinel) {
    try {
        RedisConnection connection({.address = sentinel, .service = "Sentinel"}, url.sentinel_login,
                                   url.tls, kTimeout);
        connection.append(sentinel_command(SentinelSearch::Question::kState, url.master));
        connection.append(sentinel_command(SentinelSearch::Question::kAddress, url.master));
        auto state = redis::read_master_state(*connection.receive());
        auto address = redis::read_master_address(*connection.receive());
        if (state && address) {
            state->address = std::move(*address);
            return state;
        }
    } catch (const Failure&) {
        // Each Sentinel may be down.
    }
    return std::nullopt;
}

}  // namespace

redis::SentinelAgreement ask_all_sentinels(const RedisUrl& url,
                                           const redis::ServerAddress& master) {
    const auto deadline = Clock::now() + kPatience;
    while (true) {
        std::vector<redis::MasterState> answers;
        for (const auto& sentinel : url.servers) {
            if (auto answer = ask(url, sentinel)) {
                answers.push_back(std::move(*answer));
            }
        }
        auto agreement = redis::agree_on_master(answers, url.servers.size(), master);
        if (agreement.presence) {
            return agreement;
        }
        if (Clock::now() >= deadline) {
            return {.presence = Presence::kUnknown};
        }
        std::this_thread::sleep_for(kPause);
    }
}

}  // namespace tollgate::cli
