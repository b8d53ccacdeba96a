#include "module/redis/protocol/redis_time.hpp"

#include "module/redis/protocol/reply.hpp"
#include "module/text/whole_number.hpp"

namespace tollgate::redis {

std::optional<ExactInstant> read_time(std::span<const redisReply* const> values) {
    constexpr std::int64_t kLatest = 253'402'300'799;  // the end of the year 9999
    constexpr std::int64_t kMostMicroseconds = 999'999;
    if (values.size() != 2) {
        return std::nullopt;
    }
    const auto seconds = parse_whole_number(text_of(*values[0]), 0, kLatest);
    const auto microseconds = parse_whole_number(text_of(*values[1]), 0, kMostMicroseconds);
    if (!seconds || !microseconds) {
        return std::nullopt;
    }
    return ExactInstant(std::chrono::seconds(*seconds) + std::chrono::microseconds(*microseconds));
}

}  // namespace tollgate::redis
