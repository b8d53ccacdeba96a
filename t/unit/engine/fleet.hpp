#pragma once

#include <algorithm>
#include <cmath>
#include <deque>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <utility>
#include <vector>

#include "t/unit/engine/fleet_servers.hpp"
#include "t/unit/engine/fleet_worker.hpp"
#include "t/unit/engine/ledger.hpp"
#include "t/unit/engine/scenario.hpp"
#include "t/unit/engine/simulated_cluster_servers.hpp"
#include "t/unit/engine/simulated_transport.hpp"

namespace tollgate::engine {

/// Nodes that share keys over one Redis or a cluster. Each worker runs the engine.
class Fleet {
  public:
    Fleet(Scenario scenario, unsigned seed)
        : scenario_(std::move(scenario)),
          random_(seed),
          choice_(scenario_.traffic, scenario_.keys),
          settings_(scenario_),
          servers_(timeline_, scenario_, settings_) {
        for (int i = 0; i < scenario_.nodes; ++i) {
            Node& node = nodes_.emplace_back();
            node.offset = Milliseconds(number(1'000, 1'000'000'000));
            node.is_hit = i < scenario_.outage.nodes;
            node.is_minority = i < scenario_.failover.minority;
            start(node);
        }
        if (scenario_.crashes) {
            crash();
        }
        if (const Failover& failover = scenario_.failover; failover.at > Milliseconds(0)) {
            timeline_.at(failover.at, [this] { fail_over(false); });
            timeline_.at(failover.at + failover.detected, [this] { fail_over(true); });
        }
    }

    void run_for(Milliseconds time) { timeline_.run_until(timeline_.now() + time); }

    /// Sends a request with this key to a node.
    void request(int node, int key) {
        nodes_[static_cast<std::size_t>(node)].workers.front()->request(key);
    }
    /// The outcome that was decided last.
    const Outcome& last_outcome() const { return last_outcome_; }

    /// The count of the window of this rate that Redis has.
    const WindowCount& counted(int key, const Rate& rate) { return servers_.count(key, rate); }
    /// The units of each day that Redis has in the history of a key.
    std::map<std::int64_t, std::int64_t> history(int key) { return servers_.history(key); }
    /// The units of a window that are counted, and that neither were granted nor are on their way
    /// to a request: they are in leases, or on their way back, or lost.
    std::int64_t idle(const KeyWindow& window) {
        const WindowCount& count = counted(window.key, scenario_.rates[window.rate]);
        const auto tally = ledger.tallies.find(window);
        return count.number != window.number
                   ? 0
                   : std::max<std::int64_t>(
                         count.count - (tally == ledger.tallies.end() ? 0 : tally->second.granted) -
                             ledger.in_flight[window.key],
                         0);
    }
    /// The window of this rate that Redis's clock is in.
    std::int64_t current_window(std::size_t rate) const {
        return window_number(servers_.time(), scenario_.rates[rate].period);
    }
    /// The most units of a window that remained by what any node saw last.
    std::int64_t most_remaining(const KeyWindow& window) const {
        const std::int64_t limit = scenario_.rates[window.rate].requests;
        std::int64_t most = 0;
        for (const Node& node : nodes_) {
            const auto seen = ledger.seen.find({node.workers.front()->node, window});
            most = std::max(most, seen == ledger.seen.end() ? limit : limit - seen->second);
        }
        return most;
    }

    /// The redirections that nodes followed.
    int redirections() const { return redirections_; }
    /// The nodes that crashed.
    int crashes() const { return next_node_ - scenario_.nodes; }
    const Scenario& scenario() const { return scenario_; }
    const KeyChoice& choice() const { return choice_; }
    const SimulatedCluster& cluster() const { return servers_.cluster(); }
    Timeline& timeline() { return timeline_; }
    Ledger ledger;

  private:
    struct Node {
        Milliseconds offset{};
        bool is_hit = false;       ///< by the outage
        bool is_minority = false;  ///< stays with the old master of a failover
        std::unique_ptr<SimulatedZone> zone;
        std::vector<std::unique_ptr<FleetWorker>> workers;
    };

    std::int64_t number(std::int64_t least, std::int64_t most) {
        return std::uniform_int_distribution<std::int64_t>(least, most)(random_);
    }
    Timeline::Time one_way() {
        const auto mean = scenario_.round_trip.count() / 2;
        return mean == 0 ? Timeline::Time(Milliseconds(number(0, scenario_.delay.count())))
                         : Timeline::Time(number(mean * 8 / 10, mean * 12 / 10));
    }

    /// A zone with room for the keys that a node sees.
    std::size_t zone_size() const {
        const double requests = scenario_.per_second * scenario_.workers *
                                static_cast<double>(scenario_.duration.count()) / 1000;
        constexpr double kBytes = 640;  // of a key
        return (std::size_t{64} << 10U) +
               static_cast<std::size_t>(kBytes * std::min<double>(scenario_.keys, requests));
    }

    void start(Node& node) {
        const int node_number = next_node_++;
        node.zone =
            std::make_unique<SimulatedZone>(static_cast<std::uint64_t>(next_node_), zone_size(),
                                            servers_.cluster().servers.size() + 2);
        for (int i = 0; i < scenario_.workers; ++i) {
            auto& worker = node.workers.emplace_back(std::make_unique<FleetWorker>(
                timeline_, settings_, node_number, static_cast<std::size_t>(i), *node.zone,
                [this](const FleetWorker& at, int key, const Outcome& outcome) {
                    note(at, key, outcome);
                }));
            worker->clock.offset = node.offset;
            worker->clock.start = scenario_.beginning;
            worker->start(
                [&](const Environment& environment) { return connect(node, environment); });
            if (scenario_.per_second > 0) {
                arrive(*worker);
            }
        }
    }

    std::shared_ptr<redis::Transport> connect(const Node& node, const Environment& environment) {
        const int node_number = next_node_ - 1;
        const auto prepare = [=, this, &node](SimulatedTransport& link, SimulatedServer& server) {
            link.delay = [this] { return one_way(); };
            link.timeout = settings_.redis.timeout;
            link.open_for = [this] { return Milliseconds(number(200, 800)); };
            link.choose_fate = [this, &node, &server](const redis::Call& call) {
                return choose_fate(node, server, call);
            };
            link.on_executed = [=, this, &node, &server](const Ledger::Executed& executed) {
                ledger.note_executed(executed);
                announce_recalls(server);
                if (servers_.is_lost(node.is_minority)) {
                    ledger.note_not_replicated(executed);
                }
            };
            link.on_answered = [=, this](const Ledger::Executed& executed) {
                ledger.note_answered(node_number, executed);
            };
            link.on_lost = [this](const Ledger::Executed& executed, const redis::Call& call) {
                ledger.note_lost(executed, call);
            };
        };
        if (scenario_.masters > 0) {
            const auto cluster = std::make_shared<SimulatedClusterServers>(
                timeline_, servers_.cluster(), scenario_.beginning, settings_.redis, environment,
                prepare, redirections_);
            return {cluster, &cluster->router()};
        }
        SimulatedServer& server = servers_.master();
        auto link = std::make_unique<SimulatedTransport>(timeline_, server.redis,
                                                         scenario_.beginning, servers_.clock());
        prepare(*link, server);
        return link;
    }

    SimulatedTransport::Fate choose_fate(const Node& node, SimulatedServer& server,
                                         const redis::Call& call) {
        if (call.script != &redis::heartbeat_script() && call.script != &redis::use_script()) {
            ++ledger.calls;
            ++server.calls;
        }
        ledger.lookups += call.script == &redis::lookup_script() ? 1 : 0;
        if (!is_hit(node)) {
            return SimulatedTransport::Fate::kAnswered;
        }
        return std::bernoulli_distribution(scenario_.outage.executed)(random_)
                   ? SimulatedTransport::Fate::kUnanswered
                   : SimulatedTransport::Fate::kNotExecuted;
    }

    /// The first worker of every node is subscribed to the channel, unless an outage hits it.
    void announce_recalls(SimulatedServer& server) {
        for (const std::string& id : std::exchange(server.redis.counts.recalled, {})) {
            for (Node& node : nodes_) {
                if (is_hit(node)) {
                    continue;
                }
                timeline_.at(timeline_.now() + one_way(),
                             [&node, id] { node.workers.front()->announce("recall:" + id); });
            }
        }
    }

    bool is_hit(const Node& node) const {
        const auto now = timeline_.now();
        return node.is_hit && now >= scenario_.outage.from && now < scenario_.outage.to;
    }

    void arrive(FleetWorker& worker) {
        const auto gap = std::exponential_distribution<>(scenario_.per_second / 1e6)(random_);
        timeline_.at(timeline_.now() + Timeline::Time(std::llround(gap)),
                     [this, node = worker.node, &worker] {
                         if (timeline_.now() < scenario_.duration && !dead_.contains(node)) {
                             worker.request(choice_(random_));
                             arrive(worker);
                         }
                     });
    }

    void note(const FleetWorker& worker, int key, const Outcome& outcome) {
        const bool is_without =
            outcome.verdict == Verdict::kDegraded || outcome.verdict == Verdict::kUnavailable;
        last_outcome_ = outcome;
        ++ledger.requests;
        ledger.last_without = is_without ? timeline_.now() : ledger.last_without;
        ledger.unauthenticated += outcome.verdict == Verdict::kUnauthenticated ? 1 : 0;
        ledger.critical += worker.log.critical;
        if (outcome.verdict == Verdict::kUnavailable) {
            ++ledger.unavailable;  // Its key is not known yet, or on_failure is deny.
            return;
        }
        for (std::size_t i = 0; i < outcome.windows.size(); ++i) {
            const auto period = scenario_.rates[i].period;
            const KeyWindow window{
                key, i,
                scenario_.sliding
                    ? window_number(std::chrono::floor<Milliseconds>(outcome.now), period)
                    : window_number(std::chrono::floor<Milliseconds>(outcome.windows[i].reset),
                                    period) -
                          1};
            auto& tally = ledger.tallies[window];
            if (outcome.is_granted()) {
                ++tally.granted;
                ++ledger.node_granted[{worker.node, window}];
            } else {
                const auto units = outcome.windows[i].exhausted ? idle(window) : 0;
                tally.idle_at_first_refusal =
                    tally.refused == 0 ? units : tally.idle_at_first_refusal;
                if (units > 0) {
                    ++tally.refused_early;
                    tally.longest_early_wait =
                        std::max(tally.longest_early_wait, outcome.retry_after);
                }
                ++tally.refused;
            }
        }
        ledger.granted += outcome.is_granted() ? 1 : 0;
        const auto day = std::chrono::floor<std::chrono::days>(outcome.now).time_since_epoch();
        ledger.granted_in_day[{key, day.count()}] += outcome.is_granted() ? 1 : 0;
        ledger.granted_alone += outcome.verdict == Verdict::kDegraded ? 1 : 0;
    }

    /// The nodes of one side find out that a replica is the master.
    void fail_over(bool is_minority) {
        servers_.fail_over();
        for (Node& node : nodes_) {
            for (auto& worker : node.workers) {
                if (node.is_minority == is_minority) {
                    auto& link = static_cast<SimulatedTransport&>(worker->transport());
                    link.fail_all();
                    link.connect_to(servers_.master().redis);
                }
            }
        }
    }

    /// A node dies and loses its state. A new node replaces it.
    void crash() {
        timeline_.at(timeline_.now() + Milliseconds(number(50, 500)), [this] {
            Node& node = nodes_[static_cast<std::size_t>(number(0, scenario_.nodes - 1))];
            dead_.insert(node.workers.front()->node);
            node.workers.clear();  // Their slices go back to the zone, which is lost.
            note_leases_lost(*node.zone);
            start(node);
            crash();
        });
    }

    /// Leases, and units to give back, end with their node.
    void note_leases_lost(Zone& zone) {
        std::vector<QuotaCache::Held> lost;
        for (std::size_t i = 0; i < zone.stripes(); ++i) {
            const LockedStripe stripe(zone, StripeNumber{i});
            QuotaCache::Cursor cursor;
            while (!stripe.quotas().visit_held(cursor, [&](const QuotaCache::Held& held) {
                lost.push_back(held);
                return true;
            })) {
            }
        }
        for (const QuotaCache::Held& held : lost) {
            const std::string id(held.owner.view().id);
            for (std::size_t i = 0; held.layout.periods[i] != 0; ++i) {
                const QuotaState::Window& window = held.state.windows[i];
                ledger.lost[{key_of(id), i, window.counted.number}] +=
                    held.state.lease + std::max<std::int64_t>(-window.owed, 0);
            }
        }
    }

    Scenario scenario_;
    std::mt19937 random_;
    KeyChoice choice_;
    Timeline timeline_;
    FleetSettings settings_;
    FleetServers servers_;
    Outcome last_outcome_;
    int redirections_ = 0;
    int next_node_ = 0;
    std::set<int> dead_;
    std::deque<Node> nodes_;
};

}  // namespace tollgate::engine
