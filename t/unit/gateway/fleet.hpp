#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <list>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "module/gateway/admission.hpp"
#include "module/gateway/engine.hpp"
#include "module/key/digest.hpp"
#include "module/text/name_hash.hpp"
#include "t/unit/gateway/scenario.hpp"
#include "t/unit/gateway/simulated_process.hpp"
#include "t/unit/gateway/simulated_transport.hpp"

namespace tollgate::gateway {

/// Nodes that share keys over one Redis. Each worker runs the engine.
class Fleet {
  public:
    Fleet(Scenario scenario, unsigned seed) : scenario_(std::move(scenario)), random_(seed) {
        table_.name = "api";
        table_.plans.push_back(
            {.name = "free", .kind = Plan::Kind::kLimited, .rates = scenario_.rates});
        table_.plans.back().sliding = scenario_.sliding;
        served_ = {{&table_, name_hash("main")}};
        settings_.name = "main";
        settings_.name_hash = name_hash("main");
        settings_.keys = redis::Keys("t:");
        settings_.timeout = std::max(Milliseconds(100), 4 * scenario_.delay);
        for (int i = 1; i <= scenario_.keys; ++i) {
            const auto id = "k" + std::to_string(i);
            redis_.records[settings_.keys.key(hex(sha256(id)))] = {
                .id = id, .name = {}, .plan = "free", .limits = {}, .expires = {}, .active = true};
        }
        for (int i = 0; i < scenario_.nodes; ++i) {
            Node& node = nodes_.emplace_back();
            node.offset = Milliseconds(number(1'000, 1'000'000'000));
            node.is_hit = i < scenario_.outage.nodes;
            start(node);
            for (auto& worker : node.workers) {
                arrive(*worker);
            }
        }
        if (scenario_.crashes) {
            crash();
        }
        timeline_.at(kDuration / 2, [this] { redis_offset_ += scenario_.jump; });
        if (scenario_.failover.at > Milliseconds(0)) {
            // Nodes that count alone would hide what the failover itself costs.
            settings_.on_failure = FailurePolicy::kDeny;
            timeline_.at(scenario_.failover.at - scenario_.failover.lag,
                         [this] { replica_ = redis_.counts; });
            timeline_.at(scenario_.failover.at, [this] { fail_over(); });
        }
    }

    void run_for(Milliseconds time) { timeline_.run_until(timeline_.now() + time); }

    /// Redis's count of the window of this rate.
    std::int64_t counted(const std::string& id, const Rate& rate) {
        TableQuota quota;
        quota.table = "api";
        return redis_.counts.count(id, quota, rate).count;
    }

    struct Tally {
        std::int64_t granted = 0;
        std::int64_t refused = 0;
    };
    /// The granted and refused units of each window of each key, by the window's number.
    std::map<std::tuple<std::string, std::size_t, std::int64_t>, Tally> tallies;
    /// The units that each node granted of each window of each key.
    std::map<std::tuple<int, std::string, std::size_t, std::int64_t>, std::int64_t> node_granted;
    std::int64_t calls = 0;
    std::int64_t granted = 0;
    std::int64_t granted_alone = 0;
    std::int64_t critical = 0;  ///< lines of the log
    /// Units of each key that the old master of a failover counted and the new master lacks.
    std::map<std::string, std::int64_t> not_replicated;
    /// Units of each key that may be counted and not granted, because a call got no reply.
    std::map<std::string, std::int64_t> lost;

  private:
    struct Worker;

    struct Request final : Admission::Client {
        Request(Fleet& of, Worker& at, std::string key)
            : fleet(of), worker(at), id(std::move(key)), admission(*at.tables, *this, {1}) {}

        std::int64_t cost() override { return 1; }
        ClientAddress address() const override { return {}; }
        Log& log() noexcept override { return worker.log; }
        void on_outcome() noexcept override { fleet.tally(*this); }

        Fleet& fleet;
        Worker& worker;
        std::string id;
        Admission admission;
    };

    struct Worker {
        Worker(Fleet& fleet, int node_number, std::size_t number, SimulatedZone& zone)
            : node(node_number),
              clock(fleet.timeline_),
              events(fleet.timeline_),
              process(number, zone.processes),
              engine(fleet.settings_, fleet.served_, zone, statistics, transport,
                     {clock, events, log, process}),
              transport(fleet.timeline_, fleet.redis_, kBeginning, fleet.redis_offset_) {
            zone.workers().insert(process.number(), process.process());
            engine.changes().on_subscribed(true);
            tables = std::make_unique<TableSet>(fleet.set_, std::nullopt, engine,
                                                std::vector<RequestStatistics*>());
        }

        int node;
        SimulatedClock clock;
        SimulatedEventLoop events;
        SimulatedLog log;
        SimulatedWorker process;
        RedisStatistics statistics;
        Engine engine;
        SimulatedTransport transport;  ///< destroyed before the engine, as in RedisClient
        std::unique_ptr<TableSet> tables;
        std::list<std::unique_ptr<Request>> requests;  ///< waiting
    };

    struct Node {
        Milliseconds offset{};
        bool is_hit = false;  ///< by the outage
        std::unique_ptr<SimulatedZone> zone;
        std::vector<std::unique_ptr<Worker>> workers;
    };

    std::int64_t number(std::int64_t least, std::int64_t most) {
        return std::uniform_int_distribution<std::int64_t>(least, most)(random_);
    }

    void start(Node& node) {
        const int number_of_node = next_node_++;
        node.zone = std::make_unique<SimulatedZone>(static_cast<std::uint64_t>(next_node_));
        for (int i = 0; i < scenario_.workers; ++i) {
            auto& worker = node.workers.emplace_back(std::make_unique<Worker>(
                *this, number_of_node, static_cast<std::size_t>(i), *node.zone));
            worker->clock.offset = node.offset;
            SimulatedTransport& transport = worker->transport;
            transport.delay = [this] { return Milliseconds(number(0, scenario_.delay.count())); };
            transport.timeout = settings_.timeout;
            transport.open_for = [this] { return Milliseconds(number(200, 800)); };
            transport.choose_fate = [this, &node](const redis::Call& call) {
                calls += call.script == &redis::heartbeat_script() ? 0 : 1;
                if (!is_cut_off(node)) {
                    return SimulatedTransport::Fate::kAnswered;
                }
                return std::bernoulli_distribution(scenario_.outage.executed)(random_)
                           ? SimulatedTransport::Fate::kUnanswered
                           : SimulatedTransport::Fate::kNotExecuted;
            };
            transport.on_lost = [this](const auto& executed, const redis::Call& call) {
                note_lost(executed, call);
            };
        }
    }

    bool is_cut_off(const Node& node) const {
        return node.is_hit && timeline_.now() >= scenario_.outage.from &&
               timeline_.now() < scenario_.outage.to;
    }

    void note_lost(const std::vector<SimulatedRedis::Executed>& executed, const redis::Call& call) {
        for (const auto& one : executed) {
            lost[one.id] += one.acquired.granted + one.acquired.lease;
        }
        if (!executed.empty() || call.script != &redis::acquire_script()) {
            return;
        }
        for (const auto& one : SimulatedRedis::asked_in(call)) {
            const auto& adjustments = one.acquire.adjustments;
            if (!adjustments.empty() && one.acquire.report_numbers.front() == 0) {
                lost[one.id] += std::max<std::int64_t>(-adjustments.back().units, 0);
            }
        }
    }

    void arrive(Worker& worker) {
        const auto gap = std::exponential_distribution<>(scenario_.per_second / 1000)(random_);
        timeline_.at(timeline_.now() + Milliseconds(std::llround(gap)),
                     [this, node = worker.node, &worker] {
                         if (timeline_.now() < kDuration && !dead_.contains(node)) {
                             request(worker);
                             arrive(worker);
                         }
                     });
    }

    void request(Worker& worker) {
        const auto id = "k" + std::to_string(number(1, scenario_.keys));
        auto& request = worker.requests.emplace_back(std::make_unique<Request>(*this, worker, id));
        request->admission.start("Bearer " + id);
        // Some have ended meanwhile, one after the other from the first.
        std::erase_if(worker.requests,
                      [](const auto& one) { return one->admission.outcome().is_decided(); });
    }

    void tally(const Request& request) {
        const Outcome& outcome = request.admission.outcome();
        ASSERT_NE(outcome.verdict, Verdict::kUnauthenticated);
        if (outcome.verdict == Verdict::kUnavailable) {
            return;  // Its key is not known yet.
        }
        for (std::size_t i = 0; i < outcome.windows.size(); ++i) {
            const auto period = scenario_.rates[i].period;
            const auto window =
                scenario_.sliding
                    ? window_number(std::chrono::floor<Milliseconds>(outcome.now), period)
                    : window_number(outcome.windows[i].reset, period) - 1;
            auto& tally = tallies[{request.id, i, window}];
            ++(outcome.is_granted() ? tally.granted : tally.refused);
            if (outcome.is_granted()) {
                ++node_granted[{request.worker.node, request.id, i, window}];
            }
        }
        granted += outcome.is_granted() ? 1 : 0;
        granted_alone += outcome.verdict == Verdict::kDegraded ? 1 : 0;
        critical += request.worker.log.critical;
    }

    void fail_over() {
        for (int i = 1; i <= scenario_.keys; ++i) {
            const auto id = "k" + std::to_string(i);
            TableQuota quota;
            quota.table = "api";
            for (const Rate& rate : scenario_.rates) {
                const WindowCount& old = redis_.counts.count(id, quota, rate);
                const WindowCount& copy = replica_.count(id, quota, rate);
                not_replicated[id] =
                    std::max(not_replicated[id],
                             old.number == copy.number ? old.count - copy.count : old.count);
            }
        }
        redis_.counts = replica_;
        redis_offset_ += scenario_.failover.clock;
        for (Node& node : nodes_) {
            for (auto& worker : node.workers) {
                worker->transport.fail_all();
            }
        }
    }

    /// A node dies and loses its state. A new node replaces it.
    void crash() {
        timeline_.at(timeline_.now() + Milliseconds(number(50, 500)), [this] {
            Node& node = nodes_[static_cast<std::size_t>(number(0, scenario_.nodes - 1))];
            dead_.insert(node.workers.front()->node);
            node.workers.clear();
            start(node);
            for (auto& worker : node.workers) {
                arrive(*worker);
            }
            crash();
        });
    }

    Scenario scenario_;
    std::mt19937 random_;
    PlanTable table_;
    std::vector<const PlanTable*> set_{&table_};
    std::vector<ServedTable> served_;
    RedisSettings settings_;
    Timeline timeline_;
    Milliseconds redis_offset_{};
    SimulatedRedis redis_;
    RedisModel replica_;
    int next_node_ = 0;
    std::set<int> dead_;
    std::deque<Node> nodes_;
};

}  // namespace tollgate::gateway
