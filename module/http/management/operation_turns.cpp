#include "module/http/management/operation_turns.hpp"

#include <cstdint>
#include <utility>

#include "module/gateway/engine.hpp"

namespace tollgate::http {

namespace {

using Clock = std::chrono::steady_clock;

/// How many keys of requests the worker has looked for.
std::uint64_t requests_of(const std::vector<std::unique_ptr<RedisClient>>& clients) {
    std::uint64_t requests = 0;
    for (const auto& client : clients) {
        const auto& counts = client->engine().statistics();
        requests += counts["key_cache_lookups.hit"].value();
        requests += counts["key_cache_lookups.negative_hit"].value();
        requests += counts["key_cache_lookups.miss"].value();
    }
    return requests;
}

}  // namespace

OperationTurns::OperationTurns(const std::vector<std::unique_ptr<RedisClient>>& clients, int part,
                               ngx_log_t* log)
    : clients_(clients),
      pace_(part),
      next_(redis::Event::calling<&OperationTurns::run>(this, log)) {}

void OperationTurns::push(std::function<void()> step) {
    const bool is_first = steps_.empty();
    steps_.push_back(std::move(step));
    if (is_first) {
        schedule();
    }
}

void OperationTurns::run() noexcept {
    const auto begin = Clock::now();
    end_ = begin + management::TurnPace::kLongestTurn;
    while (!steps_.empty() && !is_over()) {
        const auto step = std::move(steps_.front());
        steps_.pop_front();
        step();
    }
    end_ = {};
    pace_.note_turn(begin, Clock::now());
    if (!steps_.empty()) {
        schedule();
    }
}

/// A posted event does not keep a worker that shuts down.
void OperationTurns::schedule() noexcept {
    const auto pause = std::chrono::ceil<std::chrono::milliseconds>(
        pace_.pause(Clock::now(), requests_of(clients_)));
    if (pause == std::chrono::milliseconds::zero() && ngx_exiting == 0) {
        next_.post_next();
    } else {
        next_.start(static_cast<ngx_msec_t>(std::max<std::int64_t>(pause.count(), 1)));
    }
}

void OperationTurns::shut_down() noexcept {
    if (!steps_.empty()) {
        next_.start(1);
    }
}

}  // namespace tollgate::http
