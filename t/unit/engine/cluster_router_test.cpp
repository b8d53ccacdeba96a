// Calls to the masters of a cluster: the slot map, redirections, failovers.

#include "module/redis/topology/cluster_router.hpp"

#include <gtest/gtest.h>

#include <functional>

#include "module/key/digest.hpp"
#include "module/redis/protocol/lookup.hpp"
#include "t/unit/engine/simulated_process.hpp"
#include "t/unit/engine/simulated_redis.hpp"

namespace tollgate::engine {
namespace {

using namespace std::chrono_literals;
using redis::ServerAddress;

const ServerAddress kOne{"10.0.0.1", 7000};
const ServerAddress kTwo{"10.0.0.2", 7000};
const ServerAddress kThree{"10.0.0.3", 7000};

/// What became of a call.
struct Result {
    int values = 0;
    int failures = 0;
    int unsent = 0;  ///< of these
    std::vector<std::string> errors;
    int count() const { return values + failures + static_cast<int>(errors.size()); }
};

class Handler final : public redis::ReplyHandler {
  public:
    explicit Handler(Result& result) : result_(result) {}
    void on_values(std::span<const redisReply* const> /*values*/) noexcept override {
        ++result_.values;
    }
    void on_error(std::string_view message) noexcept override {
        result_.errors.emplace_back(message);
    }
    void on_failure() noexcept override { ++result_.failures; }
    void on_unsent() noexcept override {
        ++result_.unsent;
        on_failure();
    }

  private:
    Result& result_;
};

class ClusterRouterTest : public testing::Test, public redis::ClusterServers {
  protected:
    struct Node {
        bool is_up = true;
        bool is_reachable = true;  ///< as its breaker has it
        /// The error that answers a call; empty: it is executed.
        std::function<std::string(const redis::Call&)> error = [](const auto&) { return ""; };
        int executed = 0;
        int asking = 0;    ///< of these calls, after ASKING
        int connects = 0;  ///< connections that were made
        int open = 0;      ///< of these: open
        int asked_for_map = 0;
        int refused = 0;
    };

    class Server final : public redis::ClusterServer {
      public:
        Server(ClusterRouterTest& test, ServerAddress address)
            : test_(test), address_(std::move(address)) {
            ++node().connects;
            ++node().open;
        }
        ~Server() override {
            --node().open;
            *is_alive_ = false;
        }
        Server(const Server&) = delete;
        Server& operator=(const Server&) = delete;

        bool is_reachable() const noexcept override { return node().is_reachable; }
        bool is_idle() const noexcept override { return pending_ == 0; }
        std::uint32_t name() const noexcept override { return address_.host.back() - '0'; }
        void report_failure(std::string_view /*error*/) noexcept override { ++node().refused; }
        void run(redis::Call call, std::unique_ptr<redis::ReplyHandler> handler) noexcept override {
            if (!node().is_reachable) {
                handler->on_unsent();
                return;
            }
            const UnlimitedMemory memory;
            ++pending_;
            auto pending = std::make_shared<std::pair<redis::Call, decltype(handler)>>(
                std::move(call), std::move(handler));
            const auto delay = node().is_up ? 1ms : test_.settings_.timeout;
            test_.timeline_.at(test_.timeline_.now() + delay, [=, this, alive = is_alive_] {
                if (*alive) {
                    --pending_;
                    answer(pending->first, *pending->second);
                }
            });
        }

      private:
        Node& node() const { return test_.nodes_[address_]; }
        void answer(const redis::Call& call, redis::ReplyHandler& handler) {
            if (!node().is_up) {
                handler.on_failure();
            } else if (const auto error = node().error(call); !error.empty()) {
                handler.on_error(error);
            } else {
                ++node().executed;
                node().asking += call.asking ? 1 : 0;
                handler.on_values({});
            }
        }

        ClusterRouterTest& test_;
        ServerAddress address_;
        int pending_ = 0;
        std::shared_ptr<bool> is_alive_ = std::make_shared<bool>(true);
    };

    ClusterRouterTest() {
        settings_.name_hash = 99;
        settings_.is_cluster = true;
        map_.assign(0, redis::kSlots / 2 - 1, kOne);
        map_.assign(redis::kSlots / 2, redis::kSlots - 1, kTwo);
    }

    void start() {
        router_ =
            std::make_unique<redis::ClusterRouter>(settings_.name_hash, settings_.timeout, *this,
                                                   Environment{clock_, events_, log_, worker_}, 1);
    }
    void start_with_map() {
        start();
        run_for(10ms);
    }
    void run_for(std::chrono::milliseconds time) { timeline_.run_until(timeline_.now() + time); }
    Result& send(redis::Slot slot) {
        Result& result = results_.emplace_back();
        router_->run(slot, {&redis::lookup_script(), {"k"}}, std::make_unique<Handler>(result));
        return result;
    }

    std::vector<ServerAddress> configured() const override { return configured_; }
    std::unique_ptr<redis::ClusterServer> connect(const ServerAddress& address,
                                                  redis::Slot /*slot*/) override {
        // A connection that is established at once lets the engine publish its plans.
        router_->is_reachable(redis::kSlots - 5);
        if (std::exchange(connect_fails_, false)) {
            throw std::bad_alloc();
        }
        return std::make_unique<Server>(*this, address);
    }
    void read_slot_map(const ServerAddress& address, redis::SlotMapReader& reader) override {
        if (std::exchange(read_fails_, false)) {
            throw std::bad_alloc();
        }
        ++nodes_[address].asked_for_map;
        map_reads_.push_back(timeline_.now());
        timeline_.at(timeline_.now() + 2ms, [&, this, address] {
            if (!router_) {
                return;
            }
            if (nodes_[address].is_up && gives_map_) {
                reader.on_slot_map(map_);
            } else {
                reader.on_no_slot_map();
            }
        });
    }
    void on_masters(std::span<const ServerAddress> masters) noexcept override {
        announced_.assign(masters.begin(), masters.end());
    }
    void on_redirection() noexcept override { ++redirections_; }

    Timeline timeline_;
    SimulatedClock clock_{timeline_};
    SimulatedEventLoop events_{timeline_};
    SimulatedLog log_;
    std::set<std::uint32_t> processes_;
    SimulatedWorker worker_{0, processes_};
    RedisSettings settings_;
    redis::SlotMap map_;  ///< as the servers have it
    bool gives_map_ = true;
    bool connect_fails_ = false;  ///< the next one
    bool read_fails_ = false;     ///< the next one
    std::vector<ServerAddress> configured_{kOne};
    std::map<ServerAddress, Node> nodes_;
    std::vector<Timeline::Time> map_reads_;
    std::vector<ServerAddress> announced_;
    int redirections_ = 0;
    std::deque<Result> results_;
    std::unique_ptr<redis::ClusterRouter> router_;
};

constexpr redis::Slot kOfOne = 5;
constexpr redis::Slot kOfTwo = redis::kSlots - 5;

TEST_F(ClusterRouterTest, ACallWaitsForTheFirstMap) {
    start();
    EXPECT_TRUE(router_->is_reachable(kOfTwo));
    const Result& result = send(kOfTwo);
    run_for(20ms);
    EXPECT_EQ(result.values, 1);
    EXPECT_EQ(nodes_[kTwo].executed, 1);
    EXPECT_EQ(announced_, (std::vector{kOne, kTwo}));
}

TEST_F(ClusterRouterTest, WithoutAMapACallFailsAtItsDeadline) {
    gives_map_ = false;
    start();
    const Result& result = send(kOfOne);
    run_for(settings_.timeout - 5ms);
    EXPECT_EQ(result.count(), 0);
    run_for(10ms);
    EXPECT_EQ(result.failures, 1);
    EXPECT_EQ(result.unsent, 1);
    EXPECT_FALSE(router_->is_reachable(kOfOne));
    gives_map_ = true;
    run_for(5s);
    EXPECT_TRUE(router_->is_reachable(kOfOne));
}

TEST_F(ClusterRouterTest, AsksServersWhoseNamesAreResolvedLate) {
    configured_.clear();
    start();
    run_for(2min);
    EXPECT_FALSE(router_->is_reachable(kOfOne));
    EXPECT_TRUE(map_reads_.empty());
    configured_ = {kOne};
    router_->servers_changed();
    run_for(10ms);
    EXPECT_TRUE(router_->is_reachable(kOfOne)) << "at once, not after the interval";
    router_->servers_changed();
    run_for(10ms);
    EXPECT_EQ(map_reads_.size(), 1U) << "not while there is a map";
}

TEST_F(ClusterRouterTest, EachMasterHasItsName) {
    start();
    EXPECT_EQ(router_->master_name(kOfOne), 99U) << "not known yet";
    run_for(10ms);
    EXPECT_EQ(router_->master_name(kOfOne), 1U);
    EXPECT_EQ(router_->master_name(kOfTwo), 2U);
}

TEST_F(ClusterRouterTest, MovedCorrectsTheSlotAndRefreshesTheMap) {
    start_with_map();
    nodes_[kOne].error = [](const auto&) { return "MOVED 5 10.0.0.3:7000"; };
    Result& result = send(kOfOne);
    run_for(10ms);
    EXPECT_EQ(result.values, 1);
    EXPECT_EQ(nodes_[kThree].executed, 1);
    EXPECT_EQ(router_->master_name(kOfOne), 3U) << "this slot";
    EXPECT_EQ(router_->master_name(kOfOne + 1), 1U) << "not the next one";
    send(kOfOne);
    run_for(10ms);
    EXPECT_EQ(nodes_[kThree].executed, 2);
    EXPECT_EQ(redirections_, 1) << "the second call goes there directly";
    const auto reads = map_reads_.size();
    run_for(2s);
    EXPECT_GT(map_reads_.size(), reads);
}

TEST_F(ClusterRouterTest, AskLeavesTheMapAsItIs) {
    start_with_map();
    nodes_[kOne].error = [](const auto&) { return "ASK 5 10.0.0.2:7000"; };
    send(kOfOne);
    run_for(10ms);
    EXPECT_EQ(nodes_[kTwo].asking, 1);
    EXPECT_EQ(router_->master_name(kOfOne), 1U);
}

TEST_F(ClusterRouterTest, ACallIsRedirectedFiveTimesAtMost) {
    start_with_map();
    nodes_[kOne].error = [](const auto&) { return "MOVED 5 10.0.0.2:7000"; };
    nodes_[kTwo].error = [](const auto&) { return "MOVED 5 10.0.0.1:7000"; };
    const Result& result = send(kOfOne);
    run_for(50ms);
    ASSERT_EQ(result.errors.size(), 1U);
    EXPECT_TRUE(result.errors[0].starts_with("MOVED"));
    EXPECT_EQ(redirections_, 5);
}

TEST_F(ClusterRouterTest, TryAgainIsSentAgainUntilTheDeadline) {
    start_with_map();
    int refusals = 2;
    nodes_[kOne].error = [&](const auto&) {
        return refusals-- > 0 ? "TRYAGAIN Multiple keys request during rehashing of slot" : "";
    };
    const Result& result = send(kOfOne);
    run_for(30ms);
    EXPECT_EQ(result.values, 1);
    refusals = 1000;
    const Result& other = send(kOfOne);
    run_for(settings_.timeout + 10ms);
    EXPECT_EQ(other.errors.size(), 1U);
}

TEST_F(ClusterRouterTest, AnErrorOfTheCallIsItsResult) {
    start_with_map();
    nodes_[kOne].error = [](const auto&) { return "WRONGTYPE Operation against a key"; };
    const Result& result = send(kOfOne);
    run_for(10ms);
    EXPECT_EQ(result.errors.size(), 1U);
}

TEST_F(ClusterRouterTest, ACallThatMayHaveBeenExecutedIsNotSentAgain) {
    start_with_map();
    nodes_[kOne].is_up = false;
    const Result& result = send(kOfOne);
    run_for(2s);
    EXPECT_EQ(result.failures, 1);
    EXPECT_EQ(result.unsent, 0);
    EXPECT_EQ(result.count(), 1);
}

TEST_F(ClusterRouterTest, AReplicaThatReplacesAMasterIsFoundWithinTwoSeconds) {
    start_with_map();
    nodes_[kOne].is_up = false;
    nodes_[kOne].is_reachable = false;
    run_for(10s);
    EXPECT_FALSE(router_->is_reachable(kOfOne));
    EXPECT_TRUE(router_->is_reachable(kOfTwo)) << "other slots are not affected";
    map_.assign(0, redis::kSlots / 2 - 1, kThree);
    run_for(2s);
    EXPECT_TRUE(router_->is_reachable(kOfOne));
    const Result& result = send(kOfOne);
    run_for(10ms);
    EXPECT_EQ(result.values, 1);
    EXPECT_EQ(nodes_[kThree].executed, 1);
}

TEST_F(ClusterRouterTest, ACallWaitsForAFailoverThatEndsInTime) {
    settings_.timeout = 5s;
    start_with_map();
    nodes_[kOne].error = [](const auto&) { return "READONLY You can't write against a replica"; };
    run_for(1s);
    const Result& result = send(kOfOne);
    run_for(100ms);
    EXPECT_EQ(result.count(), 0);
    map_.assign(0, redis::kSlots / 2 - 1, kThree);
    run_for(2s);
    EXPECT_EQ(result.values, 1);
}

TEST_F(ClusterRouterTest, RefreshesAreASecondApartAndAMinuteWhileAllIsWell) {
    start_with_map();
    nodes_[kOne].error = [](const auto&) { return "MOVED 5 10.0.0.2:7000"; };
    for (int i = 0; i < 100; ++i) {
        send(kOfOne);
        router_->run(kOfOne, {&redis::lookup_script(), {"k"}},
                     std::make_unique<Handler>(results_.emplace_back()));
        run_for(50ms);
    }
    for (std::size_t i = 1; i < map_reads_.size(); ++i) {
        EXPECT_GE(map_reads_[i] - map_reads_[i - 1], 1s);
    }
    EXPECT_GE(map_reads_.size(), 4U);
    nodes_[kOne].error = [](const auto&) { return ""; };
    run_for(5s);
    const auto reads = map_reads_.size();
    run_for(10min);
    EXPECT_GE(map_reads_.size() - reads, 9U);
    EXPECT_LE(map_reads_.size() - reads, 12U);
}

TEST_F(ClusterRouterTest, TheConfiguredServersAreAskedWhenNoMasterAnswers) {
    map_ = {};
    map_.assign(0, redis::kSlots - 1, kTwo);
    start_with_map();
    nodes_[kTwo].is_up = false;
    nodes_[kTwo].is_reachable = false;
    const int asked = nodes_[kOne].asked_for_map;
    run_for(3s);
    EXPECT_GT(nodes_[kOne].asked_for_map, asked);
}

TEST_F(ClusterRouterTest, AConnectionToAFormerMasterIsClosedWhenItIsIdle) {
    start_with_map();
    EXPECT_EQ(nodes_[kOne].open, 1);
    nodes_[kOne].is_up = false;
    const Result& result = send(kOfOne);
    map_.assign(0, redis::kSlots / 2 - 1, kThree);
    map_ = [] {
        redis::SlotMap map;
        map.assign(0, redis::kSlots / 2 - 1, kThree);
        map.assign(redis::kSlots / 2, redis::kSlots - 1, kTwo);
        return map;
    }();
    router_->report_failure(kOfTwo, "CLUSTERDOWN");
    run_for(3s);
    EXPECT_EQ(result.count(), 1) << "its handler was called";
    EXPECT_EQ(nodes_[kOne].open, 0);
    EXPECT_EQ(nodes_[kThree].open, 1);
}

TEST_F(ClusterRouterTest, ARedirectionWithoutAnAddressWaitsForTheMap) {
    settings_.timeout = 5s;
    start_with_map();
    nodes_[kOne].error = [](const auto&) { return "MOVED 5 ?:7000"; };
    const Result& result = send(kOfOne);
    run_for(100ms);
    EXPECT_EQ(result.count(), 0);
    map_.assign(0, redis::kSlots / 2 - 1, kThree);
    run_for(2s);
    EXPECT_EQ(result.values, 1);
    EXPECT_EQ(nodes_[kThree].executed, 1);
}

TEST_F(ClusterRouterTest, AServerWithoutMemoryEndsTheCall) {
    start_with_map();
    nodes_[kOne].error = [](const auto&) { return "OOM command not allowed"; };
    const Result& result = send(kOfOne);
    run_for(10ms);
    EXPECT_EQ(result.errors.size(), 1U);
}

TEST_F(ClusterRouterTest, ARefusalConcernsTheMasterOfItsSlot) {
    start();
    router_->report_failure(kOfOne, "OOM");
    run_for(10ms);
    EXPECT_EQ(nodes_[kOne].refused, 0) << "no master is known";
    router_->report_failure(kOfTwo, "OOM");
    EXPECT_EQ(nodes_[kOne].refused, 0);
    EXPECT_EQ(nodes_[kTwo].refused, 1);
}

TEST_F(ClusterRouterTest, ShortMemoryLeavesTheOldMapInUse) {
    connect_fails_ = true;
    read_fails_ = true;
    start();
    run_for(20ms);
    EXPECT_FALSE(router_->is_reachable(kOfOne));
    EXPECT_FALSE(router_->map_age());
    run_for(10s);
    EXPECT_TRUE(router_->is_reachable(kOfOne));
    EXPECT_GE(*router_->map_age(), 1s);
    map_.assign(0, redis::kSlots / 2 - 1, kThree);
    connect_fails_ = true;
    run_for(1s);
    router_->report_failure(kOfOne, "CLUSTERDOWN");
    run_for(1s);
    EXPECT_EQ(router_->master_name(kOfOne), 1U);
    run_for(10s);
    EXPECT_EQ(router_->master_name(kOfOne), 3U);
}

TEST_F(ClusterRouterTest, ASlotWithoutAMasterIsUnreachable) {
    map_ = {};
    map_.assign(0, redis::kSlots / 2 - 1, kOne);
    start_with_map();
    EXPECT_TRUE(router_->is_reachable(kOfOne));
    EXPECT_FALSE(router_->is_reachable(kOfTwo));
    const Result& result = send(kOfTwo);
    run_for(settings_.timeout + 10ms);
    EXPECT_EQ(result.failures, 1);
    EXPECT_EQ(result.unsent, 1);
}

TEST_F(ClusterRouterTest, NoHandlerIsCalledOnceTheRouterIsDestroyed) {
    start_with_map();
    nodes_[kOne].error = [](const auto&) { return "TRYAGAIN"; };
    const Result& one = send(kOfOne);
    const Result& two = send(kOfTwo);
    router_.reset();
    run_for(2s);
    EXPECT_EQ(one.count() + two.count(), 0);
}

TEST_F(ClusterRouterTest, ShortMemoryFailsACallAndNothingElse) {
    start_with_map();
    for (int left = 0; left < 40; ++left) {
        Result& result = results_.emplace_back();
        {
            auto handler = std::make_unique<Handler>(result);
            redis::Call call{&redis::lookup_script(), {"a key that does not fit in a string"}};
            allocations_left = left;
            router_->run(kOfOne, std::move(call), std::move(handler));
            allocations_left = -1;
        }
        run_for(10ms);
        EXPECT_EQ(result.count(), 1) << left;
    }
    EXPECT_EQ(results_.back().values, 1);
}

}  // namespace
}  // namespace tollgate::engine
