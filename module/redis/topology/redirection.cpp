#include "module/redis/topology/redirection.hpp"

#include "module/text/whole_number.hpp"

namespace tollgate::redis {

std::optional<Redirection> read_redirection(std::string_view message, std::string_view asked_host) {
    const auto after_code = message.find(' ');
    const auto code = message.substr(0, after_code);
    if (after_code == message.npos || (code != "MOVED" && code != "ASK")) {
        return std::nullopt;
    }
    const auto words = message.substr(after_code + 1);
    const auto after_slot = words.find(' ');
    if (after_slot == words.npos) {
        return std::nullopt;
    }
    const auto slot = parse_whole_number(words.substr(0, after_slot), 0, kSlots - 1);
    const auto server = parse_server_address(words.substr(after_slot + 1), asked_host);
    if (!slot || !server) {
        return std::nullopt;
    }
    return Redirection{.slot = static_cast<Slot>(*slot), .server = *server};
}

}  // namespace tollgate::redis
