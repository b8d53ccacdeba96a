#include "module/gateway/engine.hpp"

#include <algorithm>
#include <string>

#include "module/gateway/plan_publication.hpp"
#include "module/key/digest.hpp"
#include "module/redis/protocol/error_scope.hpp"
#include "module/redis/protocol/log_text.hpp"

namespace tollgate::gateway {

namespace {

/// How long a record may be used while a change of it could be missed.
constexpr SteadyTime kUnsubscribed{1000};

}  // namespace

Engine::Engine(const RedisSettings& settings, std::span<const ServedTable> tables, Zone& zone,
               RedisStatistics& statistics, Transport& transport, const Environment& environment)
    : settings_(settings),
      tables_(tables),
      zone_(zone),
      statistics_(statistics),
      transport_(transport),
      environment_(environment),
      acquires_(*this),
      settlement_(*this),
      lookups_(*this),
      uses_(*this),
      slices_(*this),
      changes_(*this),
      heartbeat_(*this) {}

redis::Slot Engine::slot_of(const KeyDigest& key) const {
    return settings_.is_cluster ? redis::key_slot(settings_.keys.key(hex(key))) : redis::Slot{0};
}

ClockBounds Engine::clock_bounds(redis::Slot slot, ExactSteadyTime now) const {
    return redis_clock(slot).at(now, clock().wall());
}

void Engine::observe_time(redis::Slot slot, ExactSteadyTime sent, ExactSteadyTime received,
                          ExactInstant time) const {
    zone_.observe_time(transport_.master_name(slot), sent, received, time);
}

void Engine::restart_clock(redis::Slot slot, ExactSteadyTime sent, ExactSteadyTime received,
                           ExactInstant time) const {
    zone_.restart_clock(transport_.master_name(slot), sent, received, time);
}

bool Engine::is_fresh(SteadyTime checked, SteadyTime now) const {
    const auto since = changes_.complete_since();
    const SteadyTime hold = since && checked > *since
                                ? settings_.key_cache
                                : std::min(settings_.key_cache, kUnsubscribed);
    return now - checked < hold;
}

void Engine::report_error(redis::Slot slot, std::string_view error) noexcept {
    if (redis::error_scope(error) == redis::ErrorScope::kServer) {
        transport_.report_failure(slot, error);
        return;
    }
    const redis::LogText shown(error);
    log_error(errors_, shown);
}

void Engine::report_record(std::string_view problem) noexcept {
    const redis::LogText shown(problem);
    log_error(record_problems_, shown);
}

void Engine::log_error(redis::LogThrottle& throttle, std::string_view text) noexcept {
    const auto left_out = throttle.admit(redis::LogThrottle::Time(clock().steady()));
    if (!left_out) {
        return;
    }
    attempt(log(), [&] {
        std::string line = "redis \"" + settings_.name + "\": ";
        line.append(text);
        if (*left_out > 0) {
            line += " (" + std::to_string(*left_out) + " errors were left out since the last line)";
        }
        log().write(LogLevel::kError, line);
    });
}

void Engine::log_refusal(LogLevel level, std::string_view what, std::string_view error) noexcept {
    attempt(log(), [&] {
        const redis::LogText shown(error);
        std::string line = "redis \"" + settings_.name + "\": ";
        log().write(level, line.append(what).append(shown));
    });
}

void Engine::publish_plans() noexcept {
    const redis::Slot slot = slot_of_key(settings_.keys.plans());
    if (worker().number() == 0 && transport_.is_reachable(slot)) {
        attempt(log(), [&] { tollgate::gateway::publish_plans(*this, slot); });
    }
}

void Engine::shut_down() noexcept {
    attempt(log(), [&] { settlement_.shut_down(); });
    uses_.shut_down();
}

}  // namespace tollgate::gateway
