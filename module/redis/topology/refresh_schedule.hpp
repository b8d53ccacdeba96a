#pragma once

#include <chrono>
#include <optional>

namespace tollgate::redis {

/// Decides when a slot map is read again. Only one refresh runs at a time. Refreshes begin at least
/// one second apart. While they fail, the interval doubles up to one minute. Otherwise a refresh
/// runs every minute, or earlier on request. Intervals are jittered, so that workers do not refresh
/// at the same time.
class RefreshSchedule {
  public:
    using Time = std::chrono::steady_clock::time_point;

    /// The first refresh is due at once.
    explicit RefreshSchedule(Time now) : due_(now) {}

    /// The map is outdated: a server answered MOVED, or a master failed. The next refresh is due as
    /// soon as possible. While refreshes fail, a request changes nothing.
    void request(Time now) noexcept;

    /// Refreshes have failed, and there are new servers to ask: the next refresh is due at once. If
    /// one runs and fails, the interval begins at its shortest again.
    void restart(Time now) noexcept;

    /// When the next refresh is due: set a timer. Nothing while one runs.
    std::optional<Time> due() const noexcept;

    /// Begins a refresh if one is due. Returns false, and does nothing, if none is. Each refresh
    /// ends with succeeded() or failed(); without one that runs, these do nothing. `random` is from
    /// 0 to 1.
    bool begin(Time now) noexcept;
    void succeeded(Time now, double random) noexcept;
    void failed(Time now, double random) noexcept;

    bool is_running() const noexcept { return is_running_; }

  private:
    using Interval = std::chrono::milliseconds;
    static constexpr Interval kShortest{1000};
    static constexpr Interval kLongest{60'000};

    Time due_;
    Time begun_ = Time::min();       ///< when the last refresh began
    Interval interval_ = kShortest;  ///< longer while refreshes fail
    bool is_running_ = false;
    bool is_requested_ = false;  ///< while a refresh runs: it may have read the old map
};

}  // namespace tollgate::redis
