#pragma once

#include <hiredis/hiredis.h>

#include <cstddef>

namespace tollgate::redis {

// What differs between hiredis 0.14 (Debian 12) and 1.x (Debian 13) in the reader of replies.
#if HIREDIS_MAJOR >= 1
/// The length that redisReplyObjectFunctions::createArray gets: size_t since 1.0.
using ArrayLength = std::size_t;

/// The element that a reader is in the middle of. There must be one: `ridx` is not negative.
/// Since 1.0, tasks are allocated one by one.
inline const redisReadTask& current_task(const redisReader& reader) {
    return *reader.task[reader.ridx];
}
#else
using ArrayLength = int;

inline const redisReadTask& current_task(const redisReader& reader) {
    return reader.rstack[reader.ridx];
}
#endif

}  // namespace tollgate::redis
