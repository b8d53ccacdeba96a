#pragma once

#include <functional>
#include <string>

#include "module/cli/commands/command_line.hpp"
#include "module/cli/redis/redis_session.hpp"
#include "module/cli/terminal/output.hpp"

namespace tollgate::cli {

// The subcommands that use Redis: define_commands() says what each does. Each one checks its
// options, reads or changes Redis, and prints the result. All throw Failure.

void issue_key(RedisSession& session, const CommandLine& line);
void import_key(RedisSession& session, const CommandLine& line);
void list_keys(RedisSession& session, const CommandLine& line);
void find_key(RedisSession& session, const CommandLine& line);
void show_key(RedisSession& session, const CommandLine& line);
void set_key(RedisSession& session, const CommandLine& line);
void disable_key(RedisSession& session, const CommandLine& line);
void enable_key(RedisSession& session, const CommandLine& line);
void revoke_key(RedisSession& session, const CommandLine& line);
void rotate_key(RedisSession& session, const CommandLine& line);
void reset_usage(RedisSession& session, const CommandLine& line);
void reindex_keys(RedisSession& session, const CommandLine& line);
void credit_key(RedisSession& session, const CommandLine& line);
void credit_group(RedisSession& session, const CommandLine& line);
void set_group(RedisSession& session, const CommandLine& line);
void show_group(RedisSession& session, const CommandLine& line);
void list_groups(RedisSession& session, const CommandLine& line);
void delete_group(RedisSession& session, const CommandLine& line);
void show_group_usage(RedisSession& session, const CommandLine& line);
void reset_group(RedisSession& session, const CommandLine& line);
void show_ban(RedisSession& session, const CommandLine& line);
void list_bans(RedisSession& session, const CommandLine& line);
void lift_ban(RedisSession& session, const CommandLine& line);
void import_files(RedisSession& session, const CommandLine& line);
void update_declared(RedisSession& session, const CommandLine& line);
void export_balances(RedisSession& session, const CommandLine& line);
void export_groups(RedisSession& session, const CommandLine& line);
void export_keys(RedisSession& session, const CommandLine& line);
void print_audit(RedisSession& session, const CommandLine& line);
void show_usage(RedisSession& session, const CommandLine& line);
void export_usage(RedisSession& session, const CommandLine& line);
void watch_top(RedisSession& session, const CommandLine& line);
void notify(RedisSession& session, const CommandLine& line);
void list_words(RedisSession& session, const CommandLine& line);

/// Requests the `tollgate_status` of a node and prints it: as tables, or the JSON as received.
/// `url` is a URL that parse_http_url accepts. Throws Failure.
void print_node_status(const std::string& url, Format format);

/// `doctor` connects itself: it examines the nodes also if Redis is unreachable.
void examine(const std::function<RedisSession()>& connect, const CommandLine& line);

}  // namespace tollgate::cli
