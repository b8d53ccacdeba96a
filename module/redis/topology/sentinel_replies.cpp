#include "module/redis/topology/sentinel_replies.hpp"

#include <algorithm>
#include <limits>

#include "module/redis/protocol/error_scope.hpp"
#include "module/redis/protocol/reply.hpp"
#include "module/text/whole_number.hpp"

namespace tollgate::redis {

namespace {

/// Whether a comma-separated list has a flag.
bool has_flag(std::string_view flags, std::string_view name) {
    while (!flags.empty()) {
        const auto flag = flags.substr(0, flags.find(','));
        if (flag == name) {
            return true;
        }
        flags.remove_prefix(std::min(flag.size() + 1, flags.size()));
    }
    return false;
}

/// Removes the last word and the space before it. Nothing if there is no space.
std::optional<std::string_view> take_last_word(std::string_view& text) {
    const auto space = text.rfind(' ');
    if (space == text.npos) {
        return std::nullopt;
    }
    const auto word = text.substr(space + 1);
    text = text.substr(0, space);
    return word;
}

Role role_of_error(std::string_view error) {
    return is_denied(error) ? Role::kForbidden : Role::kUnknown;
}

Role role_of_name(std::string_view name) {
    if (name == "master") {
        return Role::kMaster;
    }
    if (name == "slave") {
        return Role::kReplica;
    }
    return name == "sentinel" ? Role::kSentinel : Role::kUnknown;
}

}  // namespace

std::optional<ServerAddress> read_master_address(const redisReply& reply) {
    const auto parts = elements_of(reply);
    if (parts.size() != 2) {
        return std::nullopt;
    }
    return make_server_address(text_of(*parts[0]), text_of(*parts[1]));
}

std::optional<MasterState> read_master_state(const redisReply& reply) {
    const auto fields = elements_of(reply);
    if (fields.size() % 2 != 0) {
        return std::nullopt;
    }
    std::string_view ip;
    std::string_view port;
    std::string_view epoch;
    std::string_view flags;
    for (std::size_t i = 0; i < fields.size(); i += 2) {
        const auto name = text_of(*fields[i]);
        const auto value = text_of(*fields[i + 1]);
        if (name == "ip") {
            ip = value;
        } else if (name == "port") {
            port = value;
        } else if (name == "config-epoch") {
            epoch = value;
        } else if (name == "flags") {
            flags = value;
        }
    }
    const auto address = make_server_address(ip, port);
    const auto config_epoch =
        parse_whole_number(epoch, 0, std::numeric_limits<std::int64_t>::max());
    if (!address || !config_epoch) {
        return std::nullopt;
    }
    return MasterState{.address = *address,
                       .config_epoch = *config_epoch,
                       .is_down = has_flag(flags, "s_down") || has_flag(flags, "o_down"),
                       .is_failing_over = has_flag(flags, "failover_in_progress")};
}

Role read_role(const redisReply& reply) {
    if (reply.type == REDIS_REPLY_ERROR) {
        return role_of_error(text_of(reply));
    }
    const auto parts = elements_of(reply);
    return parts.empty() ? Role::kUnknown : role_of_name(text_of(*parts[0]));
}

Role read_role(const Value& reply) {
    if (reply.is_error()) {
        return role_of_error(reply.text);
    }
    return reply.elements.empty() ? Role::kUnknown : role_of_name(reply.elements.front().text);
}

std::optional<SwitchedMaster> read_switched_master(std::string_view message) {
    const auto port = take_last_word(message);
    const auto host = take_last_word(message);
    const auto old_port = take_last_word(message);
    const auto old_host = take_last_word(message);
    if (!port || !host || !old_port || !old_host || message.empty()) {
        return std::nullopt;
    }
    const auto deposed = make_server_address(*old_host, *old_port);
    const auto address = make_server_address(*host, *port);
    if (!deposed || !address) {
        return std::nullopt;
    }
    return SwitchedMaster{.name = message, .deposed = *deposed, .address = *address};
}

}  // namespace tollgate::redis
