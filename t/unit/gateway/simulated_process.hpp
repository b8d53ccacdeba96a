#pragma once

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "module/gateway/environment.hpp"
#include "module/gateway/zone.hpp"
#include "t/unit/failing_allocator.hpp"
#include "t/unit/gateway/timeline.hpp"

namespace tollgate::gateway {

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

        void start(std::chrono::milliseconds delay) noexcept override {
            run_at(timer_, timeline_.now() + delay);
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

/// The memory of a zone.
struct ZoneMemory {
    ZoneMemory(std::size_t size, std::size_t masters)
        : redis(masters), lines((size + sizeof(Line) - 1) / sizeof(Line)) {}
    std::span<std::byte> bytes() { return std::as_writable_bytes(std::span(lines)); }

    struct alignas(64) Line {
        std::array<std::byte, 64> bytes{};
    };
    SharedNode node{};
    std::vector<SharedRedis> redis;
    std::vector<Line> lines;
};

/// A zone in memory of its own. Fails the test if its lock is taken twice.
class SimulatedZone final : private ZoneMemory, public Zone {
  public:
    /// `masters` is the number of places for the clocks of masters.
    explicit SimulatedZone(std::uint64_t node_id, std::size_t size = std::size_t{64} << 10U,
                           std::size_t masters = 3)
        : ZoneMemory(size, masters),
          Zone(ZoneMemory::node, ZoneMemory::redis, ZoneMemory::bytes()) {
        ZoneMemory::node.id = node_id;
    }

    std::set<std::uint32_t> processes;

  private:
    void lock() noexcept override {
        EXPECT_FALSE(is_locked_) << "the zone is locked already";
        is_locked_ = true;
    }
    void unlock() noexcept override { is_locked_ = false; }

    bool is_locked_ = false;
};

}  // namespace tollgate::gateway
