#include "module/cli/redis/redis_reply.hpp"

#include <algorithm>
#include <array>

#include "module/cli/failure.hpp"

namespace tollgate::cli {

void require_success(const redis::Value& reply) {
    if (reply.is_error()) {
        // With the URL of a cluster, such commands are sent to the master of their slot.
        const bool is_of_cluster =
            reply.text.starts_with("MOVED ") || reply.text.starts_with("CROSSSLOT ");
        throw Failure(ExitStatus::kRedis,
                      "Redis replies with an error: " + reply.text +
                          (is_of_cluster ? ": use redis+cluster:// for a cluster" : ""));
    }
    std::ranges::for_each(reply.elements, require_success);
}

std::string escape_glob(std::string_view text) {
    std::string pattern;
    for (const char c : text) {
        if (std::string_view("*?[]\\^-").find(c) != std::string_view::npos) {
            pattern += '\\';
        }
        pattern += c;
    }
    return pattern;
}

bool is_script_call(const redis::Command& command) {
    return command.front() == "EVAL" || command.front() == "EVALSHA";
}

std::optional<std::string_view> key_of(const redis::Command& command) {
    constexpr std::array<std::string_view, 6> kWithoutKey{"DBSIZE", "PUBLISH", "ROLE",
                                                          "SCAN",   "TIME",    "WAIT"};
    if (command.size() < 2 ||
        std::ranges::find(kWithoutKey, std::string_view(command.front())) != kWithoutKey.end()) {
        return std::nullopt;
    }
    constexpr std::size_t kFirstKey = 3;
    return command.at(is_script_call(command) ? kFirstKey : 1);
}

}  // namespace tollgate::cli
