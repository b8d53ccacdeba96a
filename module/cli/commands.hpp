#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "module/cli/key_options.hpp"
#include "module/cli/redis_session.hpp"
#include "module/cli/render.hpp"
#include "module/redis/keys.hpp"

namespace tollgate::cli {

/// The subcommands, each from what the operator wrote to what is printed. All throw Failure.
class Commands {
  public:
    /// The session must outlive the commands.
    Commands(RedisSession& session, redis::Keys keys, Format format)
        : session_(session), keys_(std::move(keys)), format_(format) {}

    void issue(const KeyOptions& options, const std::optional<std::string>& id);
    /// The key comes on standard input.
    void import(const KeyOptions& options, const std::optional<std::string>& id);
    void list();
    void show(const std::string& id);
    void set(const std::string& id, const KeyOptions& options);
    void set_active(const std::string& id, bool active);
    void revoke(const std::string& id);
    void rotate(const std::string& id, const std::string& overlap);
    void show_ban(const std::string& id);
    void lift_ban(const std::string& id);
    void usage(const std::string& id);

  private:
    std::string store(const std::string& token, const KeyOptions& options,
                      const std::optional<std::string>& id);
    void print_new_key(const std::string& id, const std::string& token);

    RedisSession& session_;
    redis::Keys keys_;
    Format format_;
};

}  // namespace tollgate::cli
