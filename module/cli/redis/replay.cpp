#include "module/cli/redis/replay.hpp"

#include <array>
#include <span>

#include "module/cli/redis/server_info.hpp"
#include "module/redis/protocol/command.hpp"
#include "module/text/words.hpp"

namespace tollgate::cli {

namespace {

/// The commands that an append-only file has of Tollgate, with arguments. KEY is a key with the
/// prefix. Redis writes PEXPIRE as PEXPIREAT, XAUTOCLAIM as XCLAIM, and the end of a key as DEL or
/// UNLINK.
constexpr std::array<std::string_view, 21> kReplayed{
    "hset KEY f v",
    "hdel KEY f",
    "hincrby KEY f 1",
    "pexpireat KEY 1",
    "zadd KEY 1 m",
    "zrem KEY m",
    "zremrangebyscore KEY 1 2",
    "xadd KEY * f v",
    "del KEY",
    "unlink KEY",
    "sadd KEY m",
    "srem KEY m",
    "persist KEY",
    "set KEY v",
    "xdel KEY 1-1",
    "xack KEY g 1-1",
    "xclaim KEY g c 0 1-1",
    "xgroup create KEY g 0",
    "xgroup createconsumer KEY g c",
    "xgroup delconsumer KEY g c",
    // A transaction of another database than 0 begins with it.
    "select 0",
};

redis::Command dry_run(std::string_view replayed, const redis::Keys& keys) {
    redis::Command command{"ACL", "DRYRUN", "default"};
    for (auto word = next_word(replayed); !word.empty(); word = next_word(replayed)) {
        command.push_back(word == "KEY" ? keys.probe() : std::string(word));
    }
    return command;
}

std::string skip_text(std::string_view replayed) {
    const auto name = next_word(replayed);
    std::string text =
        "loses keys when it starts: it reads its append-only file as the user \"default\", also if "
        "this user is off, and skips transactions that the user may not run, such as those with ";
    text.append(name).append(
        ": set \"user default off ~* &* +@all\" in redis.conf or its ACL file, and with ACL "
        "SETUSER "
        "before Redis starts again. Keys that are missing since a start return with the next one: "
        "until then, change none of them, and do not let Redis rewrite the file");
    return text;
}

}  // namespace

Replay check_replay(RedisSession& session, const std::map<std::string, std::string>& infos,
                    ReplayCheck check) {
    Replay replay;
    const auto commands =
        std::span(kReplayed).first(check == ReplayCheck::kOneCommand ? 1 : kReplayed.size());
    for (const auto command : commands) {
        for (const auto& [address, reply] : session.ask_masters(dry_run(command, session.keys()))) {
            const auto info = infos.find(address);
            if (info != infos.end() && !appends_changes(info->second)) {
                continue;
            }
            if (reply.is_error()) {
                replay.may_ask = replay.may_ask && !reply.text.starts_with("NOPERM");
            } else if (reply.text != "OK") {
                replay.skips.emplace(address, skip_text(command));
            }
        }
        if (!replay.may_ask) {
            break;
        }
    }
    return replay;
}

}  // namespace tollgate::cli
