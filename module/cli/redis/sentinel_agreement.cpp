#include "module/cli/redis/sentinel_agreement.hpp"

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>
#include <vector>

#include "module/cli/failure.hpp"
#include "module/cli/redis/redis_connection.hpp"
#include "module/redis/topology/sentinel_replies.hpp"
#include "module/redis/topology/sentinel_search.hpp"

namespace tollgate::cli {

namespace {

using redis::SentinelSearch;
using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kTimeout{1000};
constexpr std::chrono::milliseconds kPause{100};

/// The Sentinel that promotes a replica shows the old master as its state, and the replica as the
/// address as soon as it has been promoted.
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

SentinelAgreement ask_all_sentinels(const RedisUrl& url, const redis::ServerAddress& master) {
    const auto deadline = Clock::now() + kPatience;
    while (true) {
        std::vector<redis::MasterState> answers;
        for (const auto& sentinel : url.servers) {
            if (auto answer = ask(url, sentinel)) {
                answers.push_back(std::move(*answer));
            }
        }
        const auto is_used = [&](const auto& answer) { return answer.address == master; };
        const bool is_promoting = std::ranges::any_of(
            answers, [&](const auto& answer) { return is_used(answer) && answer.is_failing_over; });
        // Of different addresses, that of the last failover is right. An address that differs at
        // the same epoch belongs to a failover that has not ended.
        const auto last = std::ranges::max_element(answers, {}, [&](const auto& answer) {
            return std::pair(answer.config_epoch, !is_used(answer));
        });
        if (last != answers.end() && !is_used(*last)) {
            return {.presence = Presence::kReplaced, .other = last->address};
        }
        if (answers.size() * 2 <= url.servers.size()) {
            return {.presence = Presence::kUnknown};
        }
        if (!is_promoting) {
            return {.presence = Presence::kPresent};
        }
        if (Clock::now() >= deadline) {
            return {.presence = Presence::kUnknown};
        }
        std::this_thread::sleep_for(kPause);
    }
}

}  // namespace tollgate::cli
