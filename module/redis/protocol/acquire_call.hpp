#pragma once

#include <hiredis/hiredis.h>

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "module/quota/acquire.hpp"
#include "module/redis/protocol/keys.hpp"
#include "module/redis/protocol/script.hpp"

namespace tollgate::redis {

/// What all acquires of one call share.
struct AcquireContext {
    std::string_view node;  ///< names the reports of this node; as in Redis keys
    Instant deadline{};     ///< Redis refuses the call after this time of its clock; 0: never
};

/// The call of acquire_script() that decides these ids at once; its text says what it takes.
Call acquire_call(std::span<const Acquire> acquires, const Keys& keys,
                  const AcquireContext& context);

/// What became of one id: decided, or Redis's error, a view into the reply.
using AcquireResult = std::variant<Acquired, std::string_view>;

struct AcquireResults {
    ExactInstant now;   ///< Redis's clock
    bool late = false;  ///< the deadline had passed: nothing was decided, `of_ids` is empty
    std::vector<AcquireResult> of_ids;
};

/// Reads what the script returned behind the token for these; nothing where it isn't of the right
/// shape. An error that Redis has for one id (WRONGTYPE) is that id's alone.
std::optional<AcquireResults> read_acquired(std::span<const redisReply* const> values,
                                            std::span<const Acquire> acquires);

}  // namespace tollgate::redis
