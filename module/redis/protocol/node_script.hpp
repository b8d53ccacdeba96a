#pragma once

#include <initializer_list>
#include <optional>
#include <string_view>
#include <utility>

#include "module/redis/protocol/reply.hpp"
#include "module/redis/protocol/script.hpp"

namespace tollgate::redis {

/// Makes a script that nodes call for requests: see make_script. If a command of it fails, or if
/// the script returns an error, the reply has the error as a text, which read_refusal finds. It is
/// no error reply, because it says nothing about the connection: Redis may refuse a command to the
/// user, or a key may have another type. Only errors with an ErrorAction stay error replies: the
/// call is sent again, or to another server.
Script make_node_script(
    std::string_view text,
    std::initializer_list<std::pair<std::string_view, std::string_view>> names = {});

/// The error of a command of a make_node_script() that failed. Nothing if these are other values.
std::optional<std::string_view> read_refusal(ReplyValues values);

}  // namespace tollgate::redis
