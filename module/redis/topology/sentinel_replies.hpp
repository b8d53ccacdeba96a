#pragma once

#include <hiredis/hiredis.h>

#include <cstdint>
#include <optional>
#include <string_view>

#include "module/redis/protocol/value.hpp"
#include "module/redis/topology/server_address.hpp"

namespace tollgate::redis {

/// Reads a reply of SENTINEL GET-MASTER-ADDR-BY-NAME: the host and the port. Nothing if the reply
/// is malformed, an error, or nil: the Sentinel does not know a master of that name.
std::optional<ServerAddress> read_master_address(const redisReply& reply);

/// What a Sentinel says of a master.
struct MasterState {
    ServerAddress address;
    std::int64_t config_epoch = 0;  ///< at least 0; each failover has a higher one
    bool is_down = false;           ///< subjectively or objectively, as this Sentinel sees it
    bool is_failing_over = false;   ///< this Sentinel is promoting a replica
};

/// Reads a reply of SENTINEL MASTER: names and values in turn. `ip`, `port` and `config-epoch` are
/// required; of a repeated name, the last value counts. Nothing if the reply is malformed or an
/// error.
std::optional<MasterState> read_master_state(const redisReply& reply);

/// What a server answers to ROLE.
enum class Role : std::uint8_t {
    kMaster,
    kReplica,
    kSentinel,
    kForbidden,  ///< the user may not call ROLE, or the command is renamed: the role is not known
    kUnknown     ///< a malformed reply or another error
};
/// Reads a reply to ROLE.
Role read_role(const redisReply& reply);
/// Reads a copy of a reply to ROLE.
Role read_role(const Value& reply);

/// A message of the channel `+switch-master`: a failover ended.
struct SwitchedMaster {
    std::string_view name;  ///< a view into the message
    ServerAddress deposed;  ///< of the old master
    ServerAddress address;  ///< of the new master
};

/// Parses "NAME OLD-HOST OLD-PORT NEW-HOST NEW-PORT". Nothing if the message is malformed.
std::optional<SwitchedMaster> read_switched_master(std::string_view message);

}  // namespace tollgate::redis
