#include "module/http/hour_recorder.hpp"

#include <chrono>

#include "module/http/node_status.hpp"
#include "module/report/hour.hpp"

namespace tollgate::http {

HourRecorder::HourRecorder(const MainConf& conf, SharedMemory& memory,
                           const Environment& environment)
    : conf_(conf),
      memory_(memory),
      clock_(environment.clock),
      log_(environment.log),
      timer_(environment.events.make_timer([this] { run(); })) {
    timer_->start(HourSamples::until_next(now()));
}

void HourRecorder::run() noexcept {
    attempt(log_, [&] { record(); });
    timer_->start(HourSamples::until_next(now()));
}

void HourRecorder::record() {
    if (!is_due()) {
        return;
    }
    // Reading the counters takes other locks.
    const HourSample sample = sample_of(node_status(conf_, memory_));
    const LockedNode node(memory_.zone());
    memory_.hour().record(now(), sample);
}

bool HourRecorder::is_due() const {
    const LockedNode node(memory_.zone());
    return memory_.hour().is_due(now());
}

SteadyTime HourRecorder::now() const {
    return std::chrono::floor<SteadyTime>(clock_.steady());
}

}  // namespace tollgate::http
