#pragma once

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <random>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "module/quota/quota_report.hpp"
#include "t/unit/quota/quota_scenario.hpp"
#include "t/unit/quota/redis_model.hpp"
#include "t/unit/quota/timeline.hpp"

namespace tollgate {

/// Nodes that share keys over one Redis.
class Cluster {
  public:
    Cluster(Scenario scenario, unsigned seed) : scenario_(std::move(scenario)), random_(seed) {
        TableQuota quota{.table = "api", .rates = scenario_.rates, .sliding = scenario_.sliding};
        quota.policies.resize(quota.rates.size());
        quotas_ = std::make_shared<Quotas>(Quotas{quota});
        for (int i = 0; i < scenario_.nodes; ++i) {
            const auto zone = std::make_shared<Zone>();
            zone->node = i;
            zone->offset = Milliseconds(number(0, 1'000'000'000));
            for (int j = 0; j < scenario_.workers; ++j) {
                auto& worker = workers_.emplace_back(std::make_unique<Worker>());
                worker->zone = zone;
                worker->is_hit = i < scenario_.outage.nodes;
                arrive(*worker);
                settle(*worker);
            }
        }
        if (scenario_.crashes) {
            crash();
        }
        timeline_.at(kDuration / 2, [this] { redis_offset_ = scenario_.jump; });
    }

    void run_for(Milliseconds time) { timeline_.run_until(timeline_.now() + time); }

    /// What Redis has counted of the window of this rate.
    std::int64_t counted(const std::string& id, const Rate& rate) {
        return redis_.count(id, quotas_->front(), rate).count;
    }

    struct Tally {
        std::int64_t granted = 0;
        std::int64_t refused = 0;
    };
    /// What each window of each key granted and refused: that of Redis's clock at the decision, or,
    /// where the clock jumps, the one in which it is counted.
    std::map<std::tuple<std::string, std::size_t, std::int64_t>, Tally> tallies;
    std::int64_t calls = 0;
    std::int64_t granted = 0;
    std::int64_t granted_alone = 0;
    /// What may be counted of each key and granted to none: of calls without an answer.
    std::map<std::string, std::int64_t> lost;

  private:
    /// What a node may grant of a window without an answer: told apart from what is tested.
    struct Allowance {
        std::int64_t number = 0;
        std::int64_t left = 0;
        std::int64_t alone = 0;  ///< was granted since Redis was asked
    };
    struct Zone {
        int node = 0;
        std::uint64_t last_report = 0;
        Milliseconds offset{};
        RedisClock clock;
        std::map<std::string, QuotaState> states;
        std::map<std::pair<std::string, std::size_t>, Allowance> allowances;
    };
    struct Batch {
        std::int64_t waiting = 0;  ///< requests for the next call
        bool in_flight = false;
    };
    struct Worker {
        std::shared_ptr<Zone> zone;
        bool is_hit = false;  ///< by the outage
        int lives = 0;        ///< replies to a worker that died reach nobody
        Milliseconds given_up_until{};
        std::map<std::string, Batch> batches;
    };
    struct Call {
        std::string id;
        Prepared prepared;
        SteadyTime sent{};
        int life = 0;
        Acquire acquire{};
        std::optional<Acquired> acquired{};
    };
    using CallPtr = std::shared_ptr<Call>;

    std::int64_t number(std::int64_t least, std::int64_t most) {
        return std::uniform_int_distribution<std::int64_t>(least, most)(random_);
    }
    Milliseconds delay() { return Milliseconds(number(0, scenario_.delay.count())); }
    Instant redis_time() const { return kBeginning + timeline_.now() + redis_offset_; }
    SteadyTime steady(const Worker& worker) const { return timeline_.now() + worker.zone->offset; }
    Moment moment(const Worker& worker) const {
        return worker.zone->clock.at(steady(worker), Instant(Milliseconds(5'000)));
    }
    static std::span<QuotaState> states(Worker& worker, const std::string& id) {
        return {&worker.zone->states[id], 1};
    }
    bool is_cut_off(const Worker& worker) const {
        return worker.is_hit && timeline_.now() >= scenario_.outage.from &&
               timeline_.now() < scenario_.outage.to;
    }

    void tally(const std::string& id, bool is_granted, std::int64_t requests, Instant now,
               std::span<const WindowCount> counted_in) {
        for (std::size_t i = 0; i < scenario_.rates.size(); ++i) {
            const auto window = scenario_.jump != Milliseconds(0)
                                    ? counted_in[i].number
                                    : window_number(now, scenario_.rates[i].period);
            auto& tally = tallies[{id, i, window}];
            (is_granted ? tally.granted : tally.refused) += requests;
        }
        granted += is_granted ? requests : 0;
    }
    void tally_local(Worker& worker, const std::string& id, bool is_granted) {
        std::vector<WindowCount> told;
        for (const auto& window : worker.zone->states[id].windows) {
            told.push_back(window.told);
        }
        tally(id, is_granted, 1, redis_time(), told);
        for (std::size_t i = 0; is_granted && i < scenario_.rates.size(); ++i) {
            spend_allowance(worker, id, i);
        }
    }
    void spend_allowance(Worker& worker, const std::string& id, std::size_t i) {
        const Rate& rate = scenario_.rates[i];
        auto& allowance = worker.zone->allowances[{id, i}];
        const auto window = window_number(moment(worker).earliest, rate.period);
        if (allowance.number < window) {
            allowance = {window, rate.requests, 0};
        }
        --allowance.left;
        if (scenario_.outage.nodes > 0) {
            ASSERT_GE(allowance.left, 0) << id << " at " << timeline_.now().count() << " ms";
        }
    }

    void arrive(Worker& worker) {
        const auto gap = std::exponential_distribution<>(scenario_.per_second / 1000)(random_);
        timeline_.at(timeline_.now() + Milliseconds(std::llround(gap)), [this, &worker] {
            if (timeline_.now() < kDuration) {
                const auto id = "k" + std::to_string(number(1, scenario_.keys));
                note_arrivals(states(worker, id), Demand{}, 1, moment(worker).steady);
                request(worker, id);
                if (worker.batches[id].waiting > 0 && !worker.batches[id].in_flight) {
                    ask(worker, id);
                }
                arrive(worker);
            }
        });
    }

    /// Decides it, or lets it wait for the next call.
    void request(Worker& worker, const std::string& id) {
        const auto answer = decide(states(worker, id), *quotas_, Demand{}, moment(worker));
        if (answer == LocalAnswer::kAsk) {
            ++worker.batches[id].waiting;
        } else {
            tally_local(worker, id, answer == LocalAnswer::kGranted);
        }
    }

    void ask(Worker& worker, const std::string& id) {
        Batch& batch = worker.batches[id];
        auto prepared = prepare(states(worker, id), *quotas_, Demand{}, moment(worker),
                                &worker.zone->last_report);
        const auto call =
            std::make_shared<Call>(Call{id, std::move(prepared), steady(worker), worker.lives});
        call->acquire = {.id = call->id,
                         .quotas = quotas_,
                         .count = std::exchange(batch.waiting, 0),
                         .lease = call->prepared.lease,
                         .adjustments = call->prepared.adjustments,
                         .report_numbers = call->prepared.report_numbers};
        batch.in_flight = true;
        if (timeline_.now() < worker.given_up_until) {
            fail(worker, call);
            return;
        }
        for (std::size_t i = 0; i < scenario_.rates.size(); ++i) {
            worker.zone->allowances[{id, i}].alone = 0;
        }
        timeline_.at(timeline_.now() + delay(), [=, this, &worker] {
            if (!is_cut_off(worker) ||
                std::bernoulli_distribution(scenario_.outage.executed)(random_)) {
                redis_.node = worker.zone->node;
                call->acquired = redis_.run(call->acquire, redis_time());
                ++calls;
            }
            timeline_.at(timeline_.now() + delay(), [=, this, &worker] { answer(worker, call); });
        });
    }

    void answer(Worker& worker, const CallPtr& call) {
        if (!call->acquired || is_cut_off(worker)) {
            timeline_.at(timeline_.now() + Milliseconds(100), [=, this, &worker] {
                worker.given_up_until = timeline_.now() + Milliseconds(number(200, 800));
                fail(worker, call);
            });
        } else if (worker.lives == call->life) {
            receive(worker, *call);
        }
    }

    void receive(Worker& worker, const Call& call) {
        const std::string& id = call.id;
        const Acquired& acquired = *call.acquired;
        worker.zone->clock.observe(call.sent, steady(worker), acquired.now);
        take_in(states(worker, id), *quotas_, call.prepared, acquired);
        tally(id, true, acquired.granted, acquired.now, acquired.windows);
        tally(id, false, acquired.limited, acquired.now, acquired.windows);
        for (std::size_t i = 0; i < scenario_.rates.size(); ++i) {
            auto& allowance = worker.zone->allowances[{id, i}];
            const auto& [window, count, previous] = acquired.windows[i];
            const auto alone = allowance.number == window ? allowance.alone : 0;
            const auto lease = states(worker, id).front().lease;
            allowance = {window, scenario_.rates[i].requests - count + lease - alone, alone};
        }
        Batch& batch = worker.batches[id];
        batch.in_flight = false;
        // Those that came meanwhile try again: the lease may be for them.
        const auto waiting = std::exchange(batch.waiting, 0);
        for (std::int64_t i = 0; i < waiting; ++i) {
            request(worker, id);
        }
        if (batch.waiting > 0) {
            ask(worker, id);
        }
    }

    /// It has no answer, and may have been counted or not.
    void fail(Worker& worker, const CallPtr& call) {
        const std::string& id = call->id;
        const auto& adjustments = call->prepared.adjustments;
        const bool is_report = !adjustments.empty() && call->prepared.report_numbers[0] != 0;
        const auto units = adjustments.empty() || is_report ? 0 : adjustments.back().units;
        // What a report adds is counted once, however often it is sent.
        if (call->acquired) {
            lost[id] += call->acquired->granted + call->acquired->lease;
        } else {
            lost[id] += std::max<std::int64_t>(-units, 0);
        }
        restore(states(worker, id), *quotas_, call->prepared, Fate::kUnknown);
        Batch& batch = worker.batches[id];
        batch.in_flight = false;
        const auto left = std::exchange(batch.waiting, 0) + call->acquire.count;
        for (std::int64_t i = 0; i < left; ++i) {
            request_alone(worker, id);
        }
    }

    void request_alone(Worker& worker, const std::string& id) {
        const auto answer = decide_alone(states(worker, id), *quotas_, Demand{}, moment(worker));
        const bool is_granted = answer == LocalAnswer::kGranted;
        tally_local(worker, id, is_granted);
        granted_alone += is_granted ? 1 : 0;
        for (std::size_t i = 0; is_granted && i < scenario_.rates.size(); ++i) {
            ++worker.zone->allowances[{id, i}].alone;
        }
    }

    void settle(Worker& worker) {
        timeline_.at(timeline_.now() + Milliseconds(250), [this, &worker] {
            for (auto& [id, state] : worker.zone->states) {
                if (!worker.batches[id].in_flight && timeline_.now() >= worker.given_up_until &&
                    needs_settling(state, moment(worker))) {
                    ask(worker, id);
                }
            }
            settle(worker);
        });
    }

    void crash() {
        timeline_.at(timeline_.now() + Milliseconds(number(50, 500)), [this] {
            Worker& worker = *workers_[static_cast<std::size_t>(number(0, scenario_.nodes - 1))];
            ++worker.lives;
            worker.zone->states.clear();
            worker.zone->node += scenario_.nodes;
            worker.batches.clear();
            crash();
        });
    }

    Scenario scenario_;
    std::mt19937 random_;
    std::shared_ptr<Quotas> quotas_;
    Timeline timeline_;
    Milliseconds redis_offset_{};
    RedisModel redis_;
    std::vector<std::unique_ptr<Worker>> workers_;
};

}  // namespace tollgate
