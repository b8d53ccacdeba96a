#pragma once

#include <algorithm>
#include <cstdint>

namespace tollgate {

/// The generic cell rate algorithm with a theoretical arrival time (TAT), as ITU-T I.371 describes
/// it, for comparisons with the gateway's buckets. A TAT is a fraction of a microsecond whose
/// denominator is the rate, so nothing is rounded.
class GcraModel {
  public:
    /// A bucket of `burst` tokens that gets `tokens` in each `period` us. It is full at first.
    GcraModel(std::int64_t tokens, std::int64_t period, std::int64_t burst)
        : tokens_(tokens), period_(period), burst_(burst) {}

    /// Decides a request at `now` us. A request that comes before the last granted one is decided
    /// at the time of that one.
    bool decide(std::int64_t now, std::int64_t cost) {
        const std::int64_t at = std::max(last_, now);
        const Wide next = std::max(tat_, Wide{at} * tokens_) + Wide{cost} * period_;
        if (next - Wide{at} * tokens_ > Wide{burst_} * period_) {
            return false;
        }
        last_ = at;
        tat_ = next;
        return true;
    }

    /// The first us at which a request of this cost, at most the burst, is granted.
    std::int64_t first_granted(std::int64_t now, std::int64_t cost) const {
        const Wide at = tat_ + Wide{cost - burst_} * period_;
        const Wide whole = at / tokens_ + (at % tokens_ > 0 ? 1 : 0);
        return std::max<std::int64_t>(static_cast<std::int64_t>(std::max<Wide>(whole, 0)),
                                      std::max(last_, now));
    }

  private:
    __extension__ using Wide = __int128;

    std::int64_t tokens_;
    std::int64_t period_;
    std::int64_t burst_;
    std::int64_t last_ = 0;
    Wide tat_ = 0;
};

}  // namespace tollgate
