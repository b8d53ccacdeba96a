#pragma once

#include <span>

#include "module/key/key_record.hpp"
#include "module/redis/protocol/reply.hpp"
#include "module/redis/protocol/script.hpp"

namespace tollgate::redis {

/// Reads the record of a key. If there is none, the call fails unless this Redis takes writes: a
/// replica may lack a key that its master has.
const Script& lookup_script();

/// The result of a look-up.
struct Lookup {
    enum class Outcome {
        kFound,
        kUnknown,    ///< there is no such record
        kRevoked,    ///< there is the note that the key was revoked: see record_field::kRevoked
        kMalformed,  ///< the record is invalid: no `tollgate` command wrote it
        kUnexpected  ///< not a reply of lookup_script()
    };
    Outcome outcome;
    KeyRecord record;  ///< valid if found; of a revoked key only the id that had it
};

/// Reads the values that lookup_script() returned after the token.
Lookup read_lookup(ReplyValues values);

}  // namespace tollgate::redis
