#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "module/management/operation_error.hpp"
#include "module/redis/protocol/schema.hpp"
#include "module/redis/protocol/script.hpp"
#include "module/redis/protocol/value.hpp"

namespace tollgate::management {

/// A command whose reply must have these elements. A number is one element; nil is an empty one.
struct Condition {
    redis::Command command;
    std::vector<std::string> elements;
};

/// Commands that Redis executes at once, if all conditions are met. All keys are in one slot.
struct Transaction {
    std::vector<Condition> conditions = {};
    std::vector<redis::Command> commands = {};
    /// Ids and digests whose records the commands change. The gateways are notified: the names are
    /// added to `changes`, where a gateway finds them when its subscription is restored, and
    /// published.
    std::vector<std::string> names = {};

    /// Whether it is one command, which needs no script.
    bool is_plain() const;
};

/// Reads a hash, unless it has more fields than `most`: then the reply is their number.
redis::Command reading_of_small_hash(std::string key, std::size_t most);

/// Reads a hash. If the key is of another type, the reply is the number -1, which an operation can
/// tell from an error, and require in a condition. Only the script knows the command: who sends it
/// otherwise sends plain_command() and takes plain_reply() of the reply.
redis::Command reading_of_any(std::string key);

/// The command that Redis knows for a command of a plain transaction.
redis::Command plain_command(const redis::Command& command);
/// The reply to a command of a plain transaction, from that to its plain_command().
redis::Value plain_reply(const redis::Command& command, redis::Value reply);

/// The replies to the commands of a transaction. Empty if a condition was not met.
using Replies = std::optional<std::vector<redis::Value>>;

/// A key of the transaction: the master of its slot executes it. A transaction without a key, such
/// as TIME, is executed by the master of `ids`.
std::string key_of(const Transaction& transaction, const redis::Keys& keys);

/// A call of redis::transaction_script(), without the token.
struct ScriptCall {
    std::vector<std::string> keys;
    std::vector<std::string> arguments;
};

/// The call of the script that executes a transaction.
ScriptCall call_of(const Transaction& transaction, const redis::Keys& keys);

/// Reads the values that the script returned after the token. Throws OperationError if one is an
/// error, or if these are not the script's values.
Replies replies_of(std::vector<redis::Value> values, const Transaction& transaction);

/// The error for a reply that Redis never sends to the command.
OperationError unexpected_reply();

}  // namespace tollgate::management
