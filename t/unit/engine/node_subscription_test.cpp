// Which worker of a node has its subscription, and when the others rely on it.

#include "module/engine/identity/node_subscription.hpp"

#include <gtest/gtest.h>

#include <random>

#include "module/text/name_hash.hpp"
#include "t/unit/engine/simulated_process.hpp"

namespace tollgate::engine {
namespace {

using namespace std::chrono_literals;
using std::chrono::milliseconds;

/// Carries nothing.
class NoTransport final : public redis::Transport {
    bool is_reachable(redis::Slot /*slot*/) const noexcept override { return false; }
    void run(redis::Slot /*slot*/, redis::Call /*call*/,
             std::unique_ptr<redis::ReplyHandler> handler) noexcept override {
        handler->on_failure();
    }
    std::uint32_t master_name(redis::Slot /*slot*/) const noexcept override { return 1; }
    void report_failure(redis::Slot /*slot*/, std::string_view /*error*/) noexcept override {}
};

/// The event loop of a worker that may be stopped, or killed.
class StoppableEvents final : public EventLoop {
  public:
    explicit StoppableEvents(Timeline& timeline) : events_(timeline) {}
    std::unique_ptr<Timer> make_timer(std::function<void()> handler) override {
        return events_.make_timer([this, handler = std::move(handler)] {
            if (is_stopped) {
                expired_.push_back(handler);
            } else {
                handler();
            }
        });
    }
    void run_expired() {
        for (const auto& handler : std::exchange(expired_, {})) {
            handler();
        }
    }
    bool is_stopped = false;

  private:
    SimulatedEventLoop events_;
    std::vector<std::function<void()>> expired_;
};

class NodeSubscriptionTest : public testing::Test {
  protected:
    /// A change of a record, and whether the node has noted it.
    struct Change {
        Timeline::Time at;
        /// Whether it may be missed for as long as others rely on a worker that does not run.
        bool is_excused;
        bool is_noted;
    };
    /// A worker. While it is stopped, its connection to Redis lasts, and the messages wait there.
    struct Worker final : EventSource, NodeSubscription::Owner {
        Worker(NodeSubscriptionTest& of, std::size_t number)
            : test(of),
              clock(of.timeline_),
              events(of.timeline_),
              process(number, of.zone_.processes),
              context(of.settings_, {}, of.zone_, of.statistics_, of.transport_,
                      {clock, events, log, process}),
              subscription(context, *this) {
            subscription.attach(this);
        }

        void subscribe() noexcept override {
            wants = true;
            connects_at = test.timeline_.now() + 3ms;
        }
        void unsubscribe() noexcept override { wants = is_connected = is_up = false; }
        void renew() noexcept override {
            lose();
            learn();
        }
        bool is_refused() const noexcept override { return test.is_refused_; }
        void on_informed(bool informed) noexcept override { is_informed_now = informed; }
        void on_replaced() noexcept override { reads_at.reset(); }
        void on_late() noexcept override { up(); }
        bool is_informed(SteadyTime /*now*/) noexcept override { return true; }

        /// Redis has closed the connection.
        void lose() {
            is_connected = false;
            messages.clear();
            connects_at = test.timeline_.now() + 500ms;
        }
        void up() {
            reads_at.reset();
            if (subscription.on_subscribed(true)) {
                reads_at = test.timeline_.now() + 2ms;
            }
        }
        /// Notices what has happened to the connection.
        void learn() {
            if (is_up && !is_connected) {
                is_up = false;
                reads_at.reset();
                subscription.on_subscribed(false);
            }
        }
        void run() {
            if (std::exchange(was_stopped, false)) {
                events.run_expired();  // It was stopped within a turn of its event loop.
                return;
            }
            learn();
            for (const std::size_t message : std::exchange(messages, {})) {
                test.changes_[message].is_noted = true;
            }
            events.run_expired();
            if (wants && !is_connected && test.is_reachable_ &&
                test.timeline_.now() >= connects_at) {
                is_connected = is_up = true;
                up();
            }
            if (reads_at && *reads_at <= test.timeline_.now()) {
                if (!test.is_reachable_) {
                    reads_at = test.timeline_.now() + 250ms;
                    return;
                }
                reads_at.reset();
                for (Change& change : test.changes_) {
                    change.is_noted = true;
                }
                subscription.elect();
            }
        }

        NodeSubscriptionTest& test;
        SimulatedClock clock;
        StoppableEvents events;
        SimulatedLog log;
        SimulatedWorker process;
        EngineContext context;
        NodeSubscription subscription;
        bool wants = false;
        bool is_connected = false;
        bool is_up = false;  ///< as it has learned
        bool was_stopped = false;
        bool is_informed_now = false;
        Timeline::Time connects_at{};
        std::vector<std::size_t> messages;
        std::optional<Timeline::Time> reads_at;
    };

    NodeSubscriptionTest() {
        settings_.name_hash = name_hash("main");
        settings_.keys = redis::Keys("t:");
    }

    Worker& start() {
        return *workers_.emplace_back(std::make_unique<Worker>(*this, next_number_++));
    }
    /// Stops a worker, which may have a message that it has not read.
    void stop(Worker& worker) {
        worker.events.is_stopped = true;
        for (Change& change : changes_) {
            change.is_excused |= change.at == now();
        }
    }
    void kill(Worker& worker) {
        zone_.processes.erase(worker.process.process());
        stop(worker);
        excused_until_ = now() + SharedSubscription::kTrusted;
        killed_.push_back(take(worker));
    }
    /// Ends a worker that was told to shut down.
    void exit(Worker& worker) {
        worker.subscription.attach(nullptr);
        const auto excused = excused_until_;
        kill(worker);
        excused_until_ = excused;
    }
    /// A change of a record. Those that are subscribed get a message.
    void change() {
        changes_.push_back({now(), now() < excused_until_ || is_any_stopped(), false});
        for (const auto& worker : workers_) {
            if (worker->is_connected) {
                worker->messages.push_back(changes_.size() - 1);
            }
        }
    }
    void run_for(milliseconds time) {
        for (const auto end = now() + time; now() < end && !HasFatalFailure();) {
            timeline_.run_until(now() + kStep);
            for (const auto& worker : workers_) {
                if (worker->events.is_stopped) {
                    worker->was_stopped = true;
                } else {
                    worker->run();
                }
            }
            check();
        }
    }
    bool is_complete() {
        const Worker& worker = *workers_.back();
        const auto offset = worker.clock.offset;
        return zone_.redis(settings_.name_hash)
            .subscription.is_complete(std::chrono::floor<SteadyTime>(now() + offset));
    }
    bool is_any_stopped() const {
        return std::ranges::any_of(workers_,
                                   [](const auto& one) { return one->events.is_stopped; });
    }
    /// Nobody relies on a subscriber longer than he may.
    void check() {
        if (!is_complete()) {
            return;
        }
        for (const Change& one : changes_) {
            const Timeline::Time most = one.is_excused ? SharedSubscription::kTrusted : 0ms;
            if (one.at < now() - most - 3 * kStep) {
                ASSERT_TRUE(one.is_noted)
                    << "seed " << seed_ << ", at " << one.at.count() << ", now " << now().count();
            }
        }
    }
    std::ptrdiff_t connected() const {
        return std::ranges::count_if(workers_, [](const auto& one) { return one->is_connected; });
    }
    Worker* subscriber() {
        const auto found =
            std::ranges::find_if(workers_, [](const auto& one) { return one->is_connected; });
        return found == workers_.end() ? nullptr : found->get();
    }

    Timeline::Time now() const { return timeline_.now(); }
    static constexpr Timeline::Time kStep{5'000};

  private:
    std::unique_ptr<Worker> take(const Worker& worker) {
        const auto place =
            std::ranges::find_if(workers_, [&](const auto& one) { return one.get() == &worker; });
        auto taken = std::move(*place);
        workers_.erase(place);
        return taken;
    }

  protected:
    Timeline timeline_;
    unsigned seed_ = 0;
    Timeline::Time excused_until_{};
    bool is_reachable_ = true;
    bool is_refused_ = false;
    SimulatedZone zone_{7};
    RedisSettings settings_;
    RedisStatistics statistics_;
    NoTransport transport_;
    std::vector<Change> changes_;
    std::size_t next_number_ = 0;
    std::vector<std::unique_ptr<Worker>> workers_;
    std::vector<std::unique_ptr<Worker>> killed_;
};

TEST_F(NodeSubscriptionTest, OneWorkerSubscribes) {
    for (int i = 0; i < 8; ++i) {
        start();
    }
    run_for(100ms);
    EXPECT_EQ(connected(), 1);
    for (const auto& worker : workers_) {
        EXPECT_TRUE(worker->is_informed_now);
    }
    run_for(10s);
    EXPECT_EQ(connected(), 1);
    EXPECT_TRUE(workers_.front()->is_connected) << "the first one remains";
}

TEST_F(NodeSubscriptionTest, AKilledSubscriberIsReplaced) {
    for (int i = 0; i < 3; ++i) {
        start();
    }
    run_for(1s);
    kill(*subscriber());
    change();
    run_for(300ms);
    EXPECT_EQ(connected(), 1);
    EXPECT_TRUE(is_complete());
    EXPECT_TRUE(changes_.back().is_noted) << "the missed change was read";
}

TEST_F(NodeSubscriptionTest, NobodyReliesOnAStoppedSubscriber) {
    Worker& stopped = start();
    Worker& other = start();
    run_for(1s);
    ASSERT_TRUE(stopped.is_connected);
    stop(stopped);
    change();
    run_for(SharedSubscription::kTrusted + 100ms);
    EXPECT_TRUE(other.is_connected);
    EXPECT_TRUE(changes_.back().is_noted);
    stopped.events.is_stopped = false;
    run_for(300ms);
    EXPECT_FALSE(stopped.is_connected) << "it learns that it was replaced";
    EXPECT_TRUE(other.is_connected);
}

TEST_F(NodeSubscriptionTest, ASubscriberThatWasStoppedAloneReadsWhatItMissed) {
    Worker& worker = start();
    run_for(1s);
    stop(worker);
    run_for(5s);
    EXPECT_FALSE(is_complete());
    worker.events.is_stopped = false;
    worker.lose();
    change();
    run_for(600ms);
    EXPECT_TRUE(is_complete());
    EXPECT_TRUE(changes_.back().is_noted);
}

TEST_F(NodeSubscriptionTest, ANewWorkerReplacesOneThatShutsDownWithoutAGap) {
    Worker& old = start();
    run_for(1s);
    Worker& successor = start();
    old.process.exiting = true;
    old.subscription.shut_down();
    for (int i = 0; i < 100; ++i) {
        run_for(5ms);
        EXPECT_TRUE(is_complete()) << i;
    }
    EXPECT_TRUE(successor.is_connected);
    EXPECT_FALSE(old.is_connected);
    EXPECT_TRUE(old.is_informed_now);
    exit(old);
    run_for(1s);
    EXPECT_TRUE(is_complete());
}

TEST_F(NodeSubscriptionTest, WorkersThatShutDownSubscribeIfNobodyElseDoes) {
    Worker& first = start();
    Worker& second = start();
    run_for(1s);
    first.process.exiting = second.process.exiting = true;
    first.subscription.shut_down();
    second.subscription.shut_down();
    run_for(1s);
    EXPECT_TRUE(first.is_connected) << "it remains";
    exit(first);
    EXPECT_FALSE(is_complete());
    run_for(1s);
    EXPECT_TRUE(second.is_connected);
    EXPECT_TRUE(is_complete());
}

TEST_F(NodeSubscriptionTest, AWorkerThatMovesFirstSubscribesAtTheNewMaster) {
    Worker& first = start();
    Worker& second = start();
    Worker& third = start();
    run_for(1s);
    second.subscription.on_moved(17);
    EXPECT_FALSE(is_complete()) << "the subscription may be at a deposed master";
    third.subscription.on_moved(17);
    run_for(300ms);
    EXPECT_TRUE(second.is_connected);
    EXPECT_EQ(connected(), 1);
    EXPECT_TRUE(is_complete());
    first.subscription.on_moved(17);
    EXPECT_TRUE(is_complete()) << "the subscription is there already";
}

TEST_F(NodeSubscriptionTest, IsRenewedOnceForAllWorkers) {
    Worker& first = start();
    Worker& second = start();
    Worker& third = start();
    run_for(1s);
    const auto refused = second.context.steady_time();
    run_for(100ms);
    second.subscription.renew(refused);
    EXPECT_FALSE(is_complete());
    run_for(300ms);
    EXPECT_TRUE(second.is_connected);
    EXPECT_FALSE(first.is_connected);
    third.subscription.renew(refused);
    EXPECT_TRUE(is_complete());
}

TEST_F(NodeSubscriptionTest, AnotherWorkerTriesWhatOneDoesNotAchieve) {
    Worker& first = start();
    Worker& second = start();
    first.connects_at = 1h;
    run_for(5s);
    EXPECT_FALSE(is_complete());
    run_for(500ms);
    EXPECT_TRUE(second.is_connected);
    EXPECT_TRUE(is_complete());
}

TEST_F(NodeSubscriptionTest, OneWorkerAsksIfRedisRefusesTheChannel) {
    Worker& first = start();
    Worker& second = start();
    is_refused_ = true;
    first.connects_at = 20s;
    run_for(19s);
    EXPECT_FALSE(second.wants);
    run_for(1100ms);
    EXPECT_TRUE(is_complete());
}

/// Workers of a node under all faults at once: check() holds, and in the end one is subscribed.
TEST_F(NodeSubscriptionTest, IsNeverTrustedForTooLong) {
    for (seed_ = 1; seed_ <= 20; ++seed_) {
        std::minstd_rand random(seed_);
        const auto draw = [&](std::size_t below) { return random() % below; };
        const bool runs_badly = seed_ % 2 == 0;  // Workers are killed and stopped.
        while (workers_.size() < 4) {
            start();
        }
        for (int round = 0; round < 300 && !HasFailure(); ++round) {
            if (draw(3) == 0) {
                change();
            }
            Worker& one = *workers_[draw(workers_.size())];
            switch (draw(12)) {
                case 0:
                    if (runs_badly) {
                        kill(one);
                        start();
                    }
                    break;
                case 1:
                case 2:
                    if (one.events.is_stopped) {
                        one.events.is_stopped = false;
                    } else if (runs_badly) {
                        stop(one);
                    }
                    break;
                case 3:
                    one.lose();
                    break;
                case 4:
                    is_reachable_ = !is_reachable_;
                    break;
                case 5:
                    if (!one.events.is_stopped && one.process.exiting) {
                        exit(one);
                        start();
                    } else if (!one.events.is_stopped) {
                        one.process.exiting = true;
                        one.subscription.shut_down();
                    }
                    break;
                case 6:
                    if (!one.events.is_stopped) {
                        one.subscription.on_moved(static_cast<std::uint32_t>(1 + draw(2)));
                    }
                    break;
                case 7:
                    if (!one.events.is_stopped) {
                        one.subscription.renew(one.context.steady_time() - 100ms);
                    }
                    break;
                default:
                    break;
            }
            run_for(milliseconds(draw(400)));
        }
        is_reachable_ = true;
        for (const auto& worker : workers_) {
            worker->events.is_stopped = false;
        }
        run_for(8s);
        EXPECT_EQ(connected(), 1) << seed_;
        EXPECT_TRUE(is_complete()) << seed_;
        EXPECT_TRUE(std::ranges::all_of(changes_, &Change::is_noted)) << seed_;
        changes_.clear();
        for (const auto& worker : workers_) {
            worker->messages.clear();
        }
    }
}

}  // namespace
}  // namespace tollgate::engine
