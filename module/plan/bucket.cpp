#include "module/plan/bucket.hpp"

#include <algorithm>

namespace tollgate {

namespace {

/// A rate of up to 10^12 and a time of thousands of years have a product of more than 64 bits.
__extension__ using WideDebt = __int128;

constexpr std::int64_t divide_down(std::int64_t amount, std::int64_t by) {
    return amount / by - (amount % by < 0 ? 1 : 0);
}

constexpr std::int64_t divide_up(std::int64_t amount, std::int64_t by) {
    return amount / by + (amount % by > 0 ? 1 : 0);
}

}  // namespace

std::int64_t debt_of(const Rate& rate, std::int64_t tokens) {
    const std::int64_t most = kMostDebt / token_debt(rate);
    return std::clamp(tokens, -most, most) * token_debt(rate);
}

std::int64_t debt_at(const WindowCount& bucket, const Rate& rate, ExactInstant now) {
    const std::int64_t debt = std::clamp<std::int64_t>(bucket.count, 0, kMostDebt);
    const std::int64_t elapsed = now.time_since_epoch().count() - bucket.previous;
    if (elapsed <= 0) {
        return debt;
    }
    const WideDebt rest = debt - WideDebt{elapsed} * rate.requests;
    return rest > 0 ? static_cast<std::int64_t>(rest) : 0;
}

std::int64_t tokens_left(const Rate& rate, std::int64_t debt) {
    return divide_down(empty_debt(rate) - debt, token_debt(rate));
}

ExactInstant granted_at(const Rate& rate, std::int64_t debt, ExactInstant at, std::int64_t cost) {
    const std::int64_t allowed = empty_debt(rate) - debt_of(rate, std::min(cost, rate.burst));
    return at +
           std::chrono::microseconds(debt > allowed ? divide_up(debt - allowed, rate.requests) : 0);
}

std::chrono::seconds refill_time(const Rate& rate) {
    return std::chrono::ceil<std::chrono::seconds>(
        std::chrono::microseconds(divide_up(empty_debt(rate), rate.requests)));
}

std::chrono::seconds length_of(const WindowState& window) {
    return window.rate.is_bucket() ? refill_time(window.rate)
                                   : window_length(window.reset, window.rate.period);
}

}  // namespace tollgate
