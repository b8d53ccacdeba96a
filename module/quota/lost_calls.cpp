#include "module/quota/lost_calls.hpp"

#include <utility>

#include "module/quota/quota_state.hpp"

namespace tollgate {

std::uint64_t LostCalls::add(std::uint64_t number, SteadyTime until) {
    until_ = empty() ? until : std::max(until_, until);
    const std::uint64_t dropped = numbers_.back() == 0 ? 0 : numbers_.front();
    erase(dropped);
    numbers_.at(numbers().size()) = number;
    return dropped;
}

bool LostCalls::erase(std::uint64_t number) {
    if (!contains(number)) {
        return false;
    }
    std::fill(std::remove(numbers_.begin(), numbers_.end(), number), numbers_.end(), 0);
    return true;
}

void note_lost_call(std::span<QuotaState> states, std::uint64_t number, SteadyTime until) {
    for (QuotaState& state : states) {
        ++state.counts.calls_lost;
        state.counts.calls_left += state.lost_calls.add(number, until) != 0 ? 1 : 0;
    }
}

void settle_lost_calls(std::span<QuotaState> states, const Acquire& acquire,
                       const Acquired& acquired) {
    for (std::size_t table = 0; table < acquire.lost_calls.size(); ++table) {
        QuotaState& state = states[table];
        const LostCalls& named = acquire.lost_calls[table];
        if (!acquired.taken_back.empty() && state.lost_calls.erase(acquired.taken_back[table])) {
            ++state.counts.calls_taken_back;
        }
        if (named.are_over(acquire.prepared)) {
            for (const std::uint64_t number : named.numbers()) {
                state.counts.calls_left += state.lost_calls.erase(number) ? 1 : 0;
            }
        }
    }
}

void drop_lost_calls(QuotaState& state) {
    const LostCalls dropped = std::exchange(state.lost_calls, {});
    state.counts.calls_left += static_cast<std::int64_t>(dropped.numbers().size());
}

}  // namespace tollgate
