#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "module/process/environment.hpp"
#include "module/zone/zone.hpp"
#include "t/unit/engine/timeline.hpp"
#include "t/unit/failing_allocator.hpp"

namespace tollgate::engine {

/// A clock of a simulation: its true time and an offset.
class SimulatedClock final : public Clock {
  public:
    explicit SimulatedClock(const Timeline& timeline) : timeline_(timeline) {}
    ExactSteadyTime steady() const noexcept override { return timeline_.now() + offset; }
    Instant wall() const noexcept override {
        return std::chrono::floor<std::chrono::milliseconds>(start + timeline_.now());
    }

    std::chrono::milliseconds offset{5'000};
    Instant start{std::chrono::milliseconds(1'795'000'000'000)};

  private:
    const Timeline& timeline_;
};

/// Timers on the timeline of a simulation. Steps of the same time run in order, so a posted step
/// runs after the current one.
class SimulatedEventLoop final : public EventLoop {
  public:
    explicit SimulatedEventLoop(Timeline& timeline) : timeline_(timeline) {}
    std::unique_ptr<Timer> make_timer(std::function<void()> handler) override {
        return std::make_unique<SimulatedTimer>(timeline_, std::move(handler));
    }

  private:
    class SimulatedTimer final : public Timer {
      public:
        SimulatedTimer(Timeline& timeline, std::function<void()> handler)
            : timeline_(timeline), handler_(std::move(handler)) {}
        ~SimulatedTimer() override { cancel(); }
        SimulatedTimer(const SimulatedTimer&) = delete;
        SimulatedTimer& operator=(const SimulatedTimer&) = delete;

        /// As nginx, keeps a running timer that would expire less than 300 ms earlier.
        void start(std::chrono::milliseconds delay) noexcept override {
            const Timeline::Time time = timeline_.now() + delay;
            const bool runs = timer_ && *timer_;
            if (!runs || time < expires_ || time >= expires_ + std::chrono::milliseconds(300)) {
                expires_ = time;
                run_at(timer_, time);
            }
        }
        void post() noexcept override {
            if (!posted_ || !*posted_) {
                run_at(posted_, timeline_.now());
            }
        }
        void cancel() noexcept override {
            for (auto* pending : {&timer_, &posted_}) {
                if (*pending) {
                    **pending = false;
                }
            }
        }

      private:
        /// Whether a step on the timeline is still to run.
        using Pending = std::shared_ptr<bool>;

        void run_at(Pending& pending, Timeline::Time time) {
            const UnlimitedMemory memory;
            if (pending) {
                *pending = false;
            }
            pending = std::make_shared<bool>(true);
            timeline_.at(time, [this, mine = pending] {
                if (std::exchange(*mine, false)) {
                    handler_();
                }
            });
        }

        Timeline& timeline_;
        std::function<void()> handler_;
        Pending timer_;
        Timeline::Time expires_{};  ///< of `timer_`
        Pending posted_;
    };

    Timeline& timeline_;
};

/// Stores the lines.
class SimulatedLog final : public Log {
  public:
    void write(LogLevel level, std::string_view text) noexcept override {
        const UnlimitedMemory memory;
        lines.emplace_back(text);
        critical += level == LogLevel::kCritical ? 1 : 0;
    }
    std::vector<std::string> lines;
    int critical = 0;
};

/// A worker process. `processes` are those of its node that run.
class SimulatedWorker final : public WorkerProcess {
  public:
    SimulatedWorker(std::size_t number, std::set<std::uint32_t>& processes)
        : number_(number),
          process_(static_cast<std::uint32_t>(100 + number)),
          processes_(processes) {
        processes_.insert(process_);
    }
    std::size_t number() const noexcept override { return number_; }
    std::uint32_t process() const noexcept override { return process_; }
    bool is_exiting() const noexcept override { return exiting; }
    bool is_alive(std::uint32_t process) const noexcept override {
        return processes_.contains(process);
    }

    bool exiting = false;

  private:
    std::size_t number_;
    std::uint32_t process_;
    std::set<std::uint32_t>& processes_;
};

/// The mutexes of a zone, for one thread. A test fails if it locks one while it holds another.
class SimulatedMutex final : public ZoneMutex {
  public:
    struct Shared {
        int held = 0;   ///< how many are locked
        int locks = 0;  ///< how often one was locked
    };
    explicit SimulatedMutex(Shared& shared) : shared_(shared) {}

    void lock() noexcept override {
        EXPECT_EQ(shared_.held, 0) << "a worker that holds a lock must not wait for another";
        ++shared_.held;
        ++shared_.locks;
    }
    void unlock() noexcept override { --shared_.held; }

  private:
    Shared& shared_;
};

/// The memory of a zone with stripes of at least 32 KiB.
struct ZoneMemory {
    struct alignas(64) Line {
        std::array<std::byte, 64> bytes{};
    };
    struct Stripe {
        Stripe(std::size_t size, SimulatedMutex::Shared& mutexes)
            : mutex(mutexes), lines((size + sizeof(Line) - 1) / sizeof(Line)) {}
        SimulatedMutex mutex;
        SharedStripe shared{};
        std::vector<Line> lines;
    };

    ZoneMemory(std::size_t size, std::size_t masters)
        : shared_redis(masters),
          change_sets(std::max<std::size_t>(size / 2048, 2)),
          node_mutex(mutexes) {
        const std::size_t count = std::clamp<std::size_t>(size / (std::size_t{32} << 10U), 1, 4);
        for (std::size_t i = 0; i < count; ++i) {
            memory_of_stripes.emplace_back(size / count, mutexes);
        }
    }

    SharedNode shared_node{};
    std::vector<SharedRedis> shared_redis;
    std::vector<LatestTimes::Set> change_sets;
    SimulatedMutex::Shared mutexes;
    SimulatedMutex node_mutex;
    std::deque<Stripe> memory_of_stripes;
};

/// A zone in memory of its own.
class SimulatedZone final : private ZoneMemory, public Zone {
  public:
    /// `masters` is the number of places for the clocks of masters.
    explicit SimulatedZone(std::uint64_t node_id, std::size_t size = std::size_t{64} << 10U,
                           std::size_t masters = 3)
        : ZoneMemory(size, masters), Zone(shared_node, shared_redis, change_sets, node_mutex) {
        shared_node.id = node_id;
        for (auto& stripe : memory_of_stripes) {
            add_stripe(stripe.shared, std::as_writable_bytes(std::span(stripe.lines)),
                       stripe.mutex);
        }
    }

    /// How often a lock was taken.
    int locks() const { return mutexes.locks; }

    std::set<std::uint32_t> processes;
};

}  // namespace tollgate::engine
