#pragma once

#include <hiredis/hiredis.h>

#include <optional>
#include <span>

#include "module/quota/window.hpp"

namespace tollgate::redis {

/// The time that the command TIME returned: its seconds and the microseconds of that second, as two
/// texts. Nothing where they are not that, or later than the year 9999.
std::optional<ExactInstant> read_time(std::span<const redisReply* const> values);

}  // namespace tollgate::redis
