#include "module/quota/shared_clock.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

namespace tollgate {
namespace {

using namespace std::chrono_literals;

/// A clock whose bounds are this time, less and more one us.
RedisClock clock_at(ExactInstant time) {
    RedisClock clock;
    clock.restart(0us, 0us, time);
    return clock;
}

TEST(SharedClock, IsNotKnownAtFirst) {
    const SharedClock clock;
    EXPECT_EQ(clock.read().at(0us, Instant(7s)).earliest, Instant(7s)) << "the node's own clock";
    EXPECT_EQ(clock.read().deadline(0us, 100ms), Instant{});
}

TEST(SharedClock, ReadsWhatWasWrittenLast) {
    SharedClock clock;
    for (const auto time : {5s, 7s, 6s}) {
        clock.write(clock_at(ExactInstant(time)));
        EXPECT_EQ(clock.read().at(0us, {}).latest, Instant(time + 1ms));
    }
}

TEST(SharedClock, AReaderSeesNoHalfOfAClock) {
    constexpr std::int64_t kLast = 5'000'000;
    SharedClock shared;
    shared.write(clock_at(ExactInstant(1ms)));
    std::atomic<bool> is_written = false;
    std::jthread writer([&] {
        for (std::int64_t i = 2; i <= kLast; ++i) {
            shared.write(clock_at(ExactInstant(std::chrono::milliseconds(i))));
        }
        is_written = true;
    });
    std::int64_t wrong = 0;
    ClockBounds seen{};
    while (!is_written) {
        const ClockBounds next = shared.read().at(0us, {});
        wrong += next.latest - next.earliest == 2ms && next.latest >= seen.latest ? 0 : 1;
        seen = next;
    }
    EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace tollgate
