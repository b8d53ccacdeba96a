#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

// What a server says of itself: its reply to INFO.
namespace tollgate::cli {

/// What a server may do with the keys that it holds.
struct Danger {
    std::string_view name;  ///< `persistence` or `eviction`
    std::string text;       ///< the predicate of a sentence whose subject is the server
};

/// The dangers of a server, from its reply to INFO: it loses the keys when it ends, or evicts them.
/// The keys are safe if the append-only file is on, or if a snapshot of the last five minutes, or
/// of the present data, is on disk.
std::vector<Danger> dangers_in(std::string_view info);

/// The version of a server that lacks commands which Tollgate uses, from its reply to INFO. Empty
/// if it has them, or does not say its version. Valkey says the version of Redis that it is
/// compatible with.
std::string old_version_in(std::string_view info);

/// The Unix time of a server, from its reply to INFO. 0 if it does not say it.
std::chrono::milliseconds time_in(std::string_view info);

/// Whether a server has an append-only file, from its reply to INFO.
bool appends_changes(std::string_view info);

/// Whether a server has an append-only file and has refused commands to a user (NOPERM) since it
/// started, from its reply to INFO. Those of its file that it skipped are among them:
/// check_replay().
bool has_refused_commands(std::string_view info);

}  // namespace tollgate::cli
