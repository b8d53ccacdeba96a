#pragma once

#include <hiredis/hiredis.h>

#include <cstddef>
#include <string>

namespace tollgate::redis {

/// The first commands on a new connection: AUTH (with a user since Redis 6) and SELECT, if
/// configured.
class Greeting {
  public:
    /// Appends the commands to `out`. AUTH is omitted if the password is empty, its user if the
    /// username is empty, and SELECT for database 0. Throws std::bad_alloc.
    void begin(const std::string& username, const std::string& password, int database,
               std::string& out);

    /// Processes the reply to one of the commands. Returns false if Redis refuses the command: the
    /// connection is not usable.
    bool take(const redisReply& reply);

    /// Whether all of them were accepted.
    bool done() const { return awaited_ == 0; }

  private:
    std::size_t awaited_ = 0;
};

}  // namespace tollgate::redis
