#pragma once

#include <hiredis/hiredis.h>

#include <cstddef>
#include <string>

namespace tollgate::redis {

/// What goes ahead of all else on a new connection: AUTH (with a user since Redis 6) and SELECT.
/// There may be neither.
class Greeting {
  public:
    /// Appends the commands to `out`: no AUTH where the password is empty, no user where that is,
    /// no SELECT of database 0. Throws std::bad_alloc.
    void begin(const std::string& username, const std::string& password, int database,
               std::string& out);

    /// Takes the reply to one of them. False when Redis refuses it: this connection is of no use.
    bool take(const redisReply& reply);

    /// Whether all of them were accepted.
    bool done() const { return awaited_ == 0; }

  private:
    std::size_t awaited_ = 0;
};

}  // namespace tollgate::redis
