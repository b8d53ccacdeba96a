#include "module/engine/worker_place.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "module/engine/in_flight/node_flights.hpp"
#include "module/engine/quota/slice_recovery.hpp"

namespace tollgate::engine {

namespace {

constexpr SteadyTime kRecoveryInterval{1000};

}  // namespace

WorkerPlace::WorkerPlace(Zone& zone, const StatisticsRegistry& registry,
                         std::vector<RedisName> redis, std::span<const ServedTable> tables,
                         const Environment& environment)
    : zone_(zone),
      registry_(registry),
      redis_(std::move(redis)),
      clock_(environment.clock),
      log_(environment.log),
      worker_(environment.worker),
      timer_(environment.events.make_timer([this] { run(); })) {
    recover();
    number_ = zone_.start_worker(worker_, tables);
    timer_->start(kRecoveryInterval);
}

WorkerPlace::~WorkerPlace() {
    const LockedNode node(zone_);
    end(node, number_);
}

void WorkerPlace::on_forgotten_flights(std::function<void()> call) {
    on_forgotten_ = std::move(call);
    if (std::exchange(are_forgotten_, false)) {
        on_forgotten_();
    }
}

/// The configuration of a worker that is shutting down may lack the Redis of the killed one.
void WorkerPlace::run() noexcept {
    if (!worker_.is_exiting()) {
        attempt(log_, [&] { recover(); });
    }
    timer_->start(kRecoveryInterval);
}

/// Other workers may recover the same ones. Each has visited the records of all slices before it
/// counts the rest as lost, so a unit does not count twice.
void WorkerPlace::recover() {
    const std::vector<EndedWorker> killed = ended();
    if (killed.empty()) {
        return;
    }
    std::vector<std::uint32_t> processes;
    processes.reserve(killed.size());
    std::ranges::transform(killed, std::back_inserter(processes), &EndedWorker::process);
    drop_flights(zone_, processes);
    if (on_forgotten_) {
        on_forgotten_();
    } else {
        are_forgotten_ = true;
    }
    recover_slices(zone_, killed, worker_, std::chrono::floor<SteadyTime>(clock_.steady()));
    const LockedNode node(zone_);
    for (const EndedWorker& one : killed) {
        if (node.places().at(one.place) == one.process) {
            end(node, one.place);
        }
    }
}

std::vector<EndedWorker> WorkerPlace::ended() const {
    const WorkerPlaces places = LockedNode(zone_).places();
    std::vector<EndedWorker> found;
    for (std::size_t place = 0; place < WorkerPlaces::kMost; ++place) {
        const std::uint32_t process = places.at(place);
        if (process != 0 && has_ended(process)) {
            const LockedNode node(zone_);
            found.push_back({.place = place, .process = process, .counts = {}});
            for (const RedisName& redis : redis_) {
                found.back().counts.push_back({redis.hash, registry_.redis(redis.name, place).own});
            }
        }
    }
    return found;
}

/// Before this worker has a place, its process id is that of one that has ended.
bool WorkerPlace::has_ended(std::uint32_t process) const {
    return process == worker_.process() ? number_ == WorkerPlaces::kMost
                                        : !worker_.is_alive(process);
}

void WorkerPlace::end(const LockedNode& node, std::size_t place) const {
    if (place < WorkerPlaces::kMost) {
        registry_.lose_carried(place);
        node.places().free(place);
    }
}

}  // namespace tollgate::engine
