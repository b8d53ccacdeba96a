#include "module/redis/io/probe.hpp"

#include "module/redis/protocol/error_scope.hpp"
#include "module/redis/protocol/redis_time.hpp"

namespace tollgate::redis {

namespace {

ExactSteadyTime steady(Pipeline::Time time) {
    return std::chrono::floor<ExactSteadyTime>(time.time_since_epoch());
}

}  // namespace

Call Probe::call(const std::string& key) {
    return {&probe_script(), {key}};
}

void Probe::on_values(std::span<const redisReply* const> values) noexcept {
    const auto received = Pipeline::Clock::now();
    if (const auto time = read_time(values)) {
        owner_.on_accepted(ObservedTime{steady(sent_), steady(received), *time});
    } else {
        owner_.on_not_accepted("unexpected reply to a probe");
    }
}

void Probe::on_error(std::string_view message) noexcept {
    const ErrorScope scope = error_scope(message);
    const bool is_key_unusable =
        scope == ErrorScope::kCluster ||
        (scope == ErrorScope::kCommand && has_error_code(message, "WRONGTYPE"));
    if (is_key_unusable) {
        owner_.on_accepted(std::nullopt);
    } else if (scope == ErrorScope::kCommand) {
        owner_.on_not_accepted(message);
    }
}

}  // namespace tollgate::redis
