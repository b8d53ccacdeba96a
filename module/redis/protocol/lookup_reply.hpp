#pragma once

#include <hiredis/hiredis.h>

#include <span>

#include "module/key/key_record.hpp"

namespace tollgate::redis {

/// What Redis says of a key.
struct Lookup {
    enum class Outcome {
        kFound,
        kUnknown,    ///< there is no such record
        kMalformed,  ///< there is one that no `tollgate` command wrote: not to be trusted
        kUnexpected  ///< not what lookup_script() returns
    };
    Outcome outcome;
    KeyRecord record;  ///< filled when found
};

/// Reads what lookup_script() returned behind the token.
Lookup read_lookup(std::span<const redisReply* const> fields);

}  // namespace tollgate::redis
