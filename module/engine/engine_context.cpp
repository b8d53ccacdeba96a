#include "module/engine/engine_context.hpp"

#include <algorithm>
#include <string>

#include "module/key/digest.hpp"
#include "module/redis/protocol/error_scope.hpp"
#include "module/redis/protocol/log_text.hpp"

namespace tollgate::engine {

redis::Slot EngineContext::slot_of(const KeyDigest& key) const {
    return settings_.is_cluster ? redis::key_slot(settings_.keys.key(hex(key))) : redis::Slot{0};
}

const PlanTable* EngineContext::table_of(std::uint32_t redis, std::uint32_t table) const {
    const bool is_own = redis == settings_.name_hash;
    const auto served = std::ranges::find_if(tables_, [&](const ServedTable& one) {
        return is_own && one.redis == redis && one.id == table;
    });
    return served == tables_.end() ? nullptr : served->table;
}

ClockBounds EngineContext::clock_bounds(redis::Slot slot, ExactSteadyTime now) const {
    const RedisClock known = redis_clock(slot);
    return known.at(now, known.is_known() ? Instant{} : clock().wall());
}

void EngineContext::observe_time(redis::Slot slot, ExactSteadyTime sent, ExactSteadyTime received,
                                 ExactInstant time) const {
    zone_.observe_time(transport_.master_name(slot), sent, received, time);
}

void EngineContext::restart_clock(redis::Slot slot, ExactSteadyTime sent, ExactSteadyTime received,
                                  ExactInstant time) const {
    zone_.restart_clock(transport_.master_name(slot), sent, received, time);
}

void EngineContext::report_error(redis::Slot slot, std::string_view error) noexcept {
    if (redis::error_scope(error) == redis::ErrorScope::kServer && !redis::is_forbidden(error)) {
        transport_.report_failure(slot, error);
        return;
    }
    const redis::LogText shown(error);
    log_error(errors_, shown);
}

void EngineContext::report_record(std::string_view problem) noexcept {
    const redis::LogText shown(problem);
    log_error(record_problems_, shown);
}

void EngineContext::log_error(redis::LogThrottle& throttle, std::string_view text) noexcept {
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

void EngineContext::log_refusal(LogLevel level, std::string_view what,
                                std::string_view error) noexcept {
    attempt(log(), [&] {
        const redis::LogText shown(error);
        std::string line = "redis \"" + settings_.name + "\": ";
        log().write(level, line.append(what).append(shown));
    });
}

}  // namespace tollgate::engine
