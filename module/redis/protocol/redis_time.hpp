#pragma once

#include <hiredis/hiredis.h>

#include <optional>
#include <span>

#include "module/quota/window.hpp"

namespace tollgate::redis {

/// The time in a reply of the command TIME: the seconds and the microseconds of that second, as two
/// strings. Nothing if they are malformed, or later than the year 9999.
std::optional<ExactInstant> read_time(std::span<const redisReply* const> values);

}  // namespace tollgate::redis
