#include "module/redis/protocol/redis_time.hpp"

#include "module/redis/protocol/reply.hpp"
#include "module/text/whole_number.hpp"

namespace tollgate::redis {

std::optional<ExactInstant> read_time(std::span<const redisReply* const> values) {
    return values.size() == 2 ? read_time(text_of(*values[0]), text_of(*values[1])) : std::nullopt;
}

std::optional<ExactInstant> read_time(std::string_view seconds, std::string_view microseconds) {
    constexpr std::int64_t kMostMicroseconds = 999'999;
    const auto second = parse_unix_time(seconds);
    const auto rest = parse_whole_number(microseconds, 0, kMostMicroseconds);
    if (!second || !rest) {
        return std::nullopt;
    }
    return *second + std::chrono::microseconds(*rest);
}

std::optional<std::chrono::sys_seconds> parse_unix_time(std::string_view text) {
    constexpr auto kLatest = std::chrono::floor<std::chrono::seconds>(kLatestInstant);
    const auto seconds = parse_whole_number(text, 0, kLatest.time_since_epoch().count());
    return seconds ? std::optional(std::chrono::sys_seconds(std::chrono::seconds(*seconds)))
                   : std::nullopt;
}

std::string unix_time(std::chrono::sys_seconds time) {
    return std::to_string(time.time_since_epoch().count());
}

}  // namespace tollgate::redis
