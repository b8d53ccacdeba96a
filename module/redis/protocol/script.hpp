#pragma once

#include <string>
#include <string_view>

#include "module/redis/protocol/command.hpp"

namespace tollgate::redis {

/// A Lua script that Redis runs. The first argument of each call is a token, and the first element
/// of what it returns is that token: by it a reply is known to be the call's own.
struct Script {
    std::string_view text;
    std::string sha1;  ///< as EVALSHA names it
};

/// A call of a script, which must outlive it. The token goes ahead of its arguments.
struct Call {
    const Script* script;
    Words keys{};
    Words arguments{};
};

/// The script that decides requests over every window of every table of their ids at once.
const Script& acquire_script();
/// The script that fetches a key's record.
const Script& lookup_script();
/// The script that shows whether Redis takes writes.
const Script& probe_script();
/// The script that writes the plan tables for the command.
const Script& publish_script();

}  // namespace tollgate::redis
