#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "module/cli/redis/redis_reply.hpp"
#include "module/quota/window.hpp"

namespace tollgate::cli {

/// One window as a quota's hash in Redis has it.
struct StoredWindow {
    WindowCount counted;
    bool sliding = false;
};

/// The windows of a quota's hash by their period in seconds, from fields such as `60.count`. Fields
/// that make no sense are left out.
std::map<std::int64_t, StoredWindow> windows_of(const RedisReply& hash);

/// What Redis's clock says, as TIME answers it.
Instant instant_of(const RedisReply& time);

/// A text that stands for itself in a glob pattern of Redis.
std::string glob_literal(std::string_view text);

}  // namespace tollgate::cli
