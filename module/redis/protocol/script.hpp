#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "module/redis/protocol/command.hpp"

namespace tollgate::redis {

/// A Lua script that Redis runs. The first argument of each call is a token, and the first element
/// of the result is the same token. The token identifies the reply to the call.
struct Script {
    std::string text;
    std::string sha1;  ///< in hexadecimal, for EVALSHA
};

/// Makes a script. Each of `names` in the text, such as `kBanKey`, becomes a Lua string with its
/// value: see schema.hpp.
Script make_script(std::string_view text,
                   std::initializer_list<std::pair<std::string_view, std::string_view>> names = {});

/// Which of a worker's connections to a server sends a call.
enum class Lane : std::uint8_t {
    kRequests,    ///< requests wait for the reply, or its reply concerns them
    kManagement,  ///< operations on keys
};

/// A part of a script: Lua that returns a function, which few calls need.
struct ScriptFile {
    std::string_view name;
    std::string_view text;
};

/// The text of a script after that of `rare(NAME)`, a local function in Lua that creates the
/// function of the file with this name. A file uses parameters and globals, and no other name
/// of the script. Throws std::bad_alloc.
std::string with_rare(std::span<const ScriptFile> files, std::string_view script);

/// A call of a script. The script must outlive it. The token precedes the arguments.
struct Call {
    const Script* script = nullptr;
    Words keys{};
    Words arguments{};
    bool asking = false;  ///< send ASKING first: the slot of the keys is being migrated
    Lane lane = Lane::kRequests;
};

/// Decides requests in every window of every table of their ids at once.
const Script& acquire_script();
/// Tests whether Redis accepts writes.
const Script& probe_script();
/// Executes commands that manage keys, if what they depend on has not changed.
const Script& transaction_script();

}  // namespace tollgate::redis
