#pragma once

#include <hiredis/hiredis.h>

#include <optional>
#include <string>
#include <vector>

#include "module/core/key_record.hpp"

namespace tollgate::redis {

/// The command that fetches the record under this Redis key (see Keys::key).
std::vector<std::string> lookup_command(std::string redis_key);

/// What a look-up's reply says of the key.
struct Lookup {
    enum class Outcome {
        kFound,
        kUnknown,    ///< there is no such record
        kMalformed,  ///< there is one that no `tollgate` command wrote: not to be trusted
        kUnexpected  ///< not the reply to a look-up: an error, or another type
    };
    Outcome outcome;
    KeyRecord record;  ///< filled when found
};

Lookup read_lookup(const redisReply& reply);

}  // namespace tollgate::redis
