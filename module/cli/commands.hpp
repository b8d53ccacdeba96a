#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <utility>

#include "module/cli/key_options.hpp"
#include "module/cli/redis_session.hpp"
#include "module/cli/render.hpp"
#include "module/cli/top.hpp"
#include "module/redis/keys.hpp"

namespace tollgate::cli {

/// The subcommands, each from what the operator wrote to what is printed. All throw Failure.
class Commands {
  public:
    /// The session must outlive the commands.
    Commands(RedisSession& session, redis::Keys keys, Format format)
        : session_(session), keys_(std::move(keys)), format_(format) {}

    /// Makes a key, stores its digest and prints it, this once.
    void issue(const KeyOptions& options, const std::optional<std::string>& id);
    /// Stores the digest of a key that comes on standard input.
    void import(const KeyOptions& options, const std::optional<std::string>& id);
    /// Prints all keys.
    void list();
    /// Prints one key.
    void show(const std::string& id);
    /// Changes what was given, and prints the key.
    void set(const std::string& id, const KeyOptions& options);
    /// Enables or disables a key, and prints it.
    void set_active(const std::string& id, bool active);
    /// Removes an id and its keys.
    void revoke(const std::string& id);
    /// Makes a new key for an id and prints it, this once; those before it end after the overlap.
    void rotate(const std::string& id, const std::string& overlap);
    /// Prints the strikes and the ban of an id.
    void show_ban(const std::string& id);
    /// Ends a ban, and prints what is left of it.
    void lift_ban(const std::string& id);
    /// Prints what an id has used of its quotas.
    void usage(const std::string& id);
    /// Prints who is busy, again and again.
    void top(const TopOptions& options);

  private:
    std::string store(const std::string& token, const KeyOptions& options,
                      const std::optional<std::string>& id);
    void print_new_key(const std::string& id, const std::string& token);

    RedisSession& session_;
    redis::Keys keys_;
    Format format_;
};

}  // namespace tollgate::cli
