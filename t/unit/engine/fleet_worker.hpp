#pragma once

#include <algorithm>
#include <functional>
#include <list>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "module/engine/admission.hpp"
#include "module/engine/engine.hpp"
#include "t/unit/engine/fleet_settings.hpp"
#include "t/unit/engine/ledger.hpp"
#include "t/unit/engine/simulated_process.hpp"

namespace tollgate::engine {

/// A worker of a node, with the requests that wait at it.
class FleetWorker {
  public:
    /// Called with the outcome of a request of a key.
    using OnOutcome = std::function<void(const FleetWorker&, int key, const Outcome&)>;
    /// Makes the connection to Redis.
    using Connect = std::function<std::shared_ptr<redis::Transport>(const Environment&)>;

    FleetWorker(Timeline& timeline, const FleetSettings& settings, int node_number,
                std::size_t number, SimulatedZone& zone, OnOutcome on_outcome)
        : node(node_number),
          clock(timeline),
          settings_(settings),
          zone_(zone),
          on_outcome_(std::move(on_outcome)),
          events_(timeline),
          process_(number, zone.processes) {
        zone.start_worker(process_, settings.served);
    }

    void start(const Connect& connect) {
        const Environment environment{clock, events_, log, process_};
        auto transport = connect(environment);
        // The subscription is older than the first record.
        clock.offset -= std::chrono::milliseconds(1);
        engine_ = std::make_unique<Engine>(settings_.redis, settings_.served, zone_, statistics,
                                           *transport, environment);
        transport_ = std::move(transport);
        if (process_.number() == 0) {
            engine_->identity().changes.on_subscribed(true);
        }
        clock.offset += std::chrono::milliseconds(1);
        tables_ = std::make_unique<TableSet>(settings_.set, std::nullopt, *engine_,
                                             std::vector<RequestStatistics*>());
    }

    /// Sends a request with this key.
    void request(int key) {
        auto& request = requests_.emplace_back(std::make_unique<Request>(*this, key));
        request->admission.start(id_of(key));
        // Some have ended meanwhile, one after the other from the first.
        std::erase_if(requests_,
                      [](const auto& one) { return one->admission.outcome().is_decided(); });
    }

    /// The channel `events` has this message. This worker is the node's subscriber.
    void announce(std::string_view message) { engine_->on_event(message); }

    redis::Transport& transport() { return *transport_; }

    const int node;
    SimulatedClock clock;
    SimulatedLog log;
    RedisStatistics statistics;

  private:
    struct Request final : Admission::Client {
        Request(FleetWorker& at, int of_key)
            : worker(at), key(of_key), admission(*at.engine_, *at.tables_, *this, {}) {}

        std::string_view value(std::size_t /*table*/) override { return {}; }
        Cost cost() override { return 1; }
        AddressBytes address() const override { return {}; }
        Log& log() noexcept override { return worker.log; }
        void on_outcome() noexcept override {
            worker.on_outcome_(worker, key, admission.outcome());
        }

        FleetWorker& worker;
        int key;
        Admission admission;
    };

    const FleetSettings& settings_;
    SimulatedZone& zone_;
    OnOutcome on_outcome_;
    SimulatedEventLoop events_;
    SimulatedWorker process_;
    std::unique_ptr<Engine> engine_;
    std::shared_ptr<redis::Transport>
        transport_;  ///< destroyed before the engine, as in MasterClient
    std::unique_ptr<TableSet> tables_;
    std::list<std::unique_ptr<Request>> requests_;  ///< waiting
};

}  // namespace tollgate::engine
