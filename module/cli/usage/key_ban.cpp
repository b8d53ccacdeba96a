#include "module/cli/usage/key_ban.hpp"

namespace tollgate::cli {

namespace {

std::optional<std::chrono::sys_seconds> second_of(std::int64_t milliseconds) {
    if (milliseconds <= 0) {
        return std::nullopt;
    }
    return std::chrono::sys_seconds(
        std::chrono::ceil<std::chrono::seconds>(std::chrono::milliseconds(milliseconds)));
}

}  // namespace

KeyBan read_ban(RedisSession& session, const redis::Keys& keys, std::string_view id) {
    const auto hash = session.run({"HGETALL", keys.ban(id)});
    auto fields = hash.fields();
    const auto now = stored_number(session.run({"TIME"}).elements.at(0).text);
    KeyBan ban{.id = std::string(id),
               .strikes = stored_number(fields["strikes"]),
               .level = stored_number(fields["level"]),
               .since = second_of(stored_number(fields["since"])),
               .until = second_of(stored_number(fields["until"]))};
    if (ban.until && ban.until->time_since_epoch().count() <= now) {
        ban.until.reset();
    }
    return ban;
}

bool lift_ban(RedisSession& session, const redis::Keys& keys, const std::string& id) {
    const auto replies =
        session.run_atomically({{"DEL", keys.ban(id)}, {"PUBLISH", keys.events(), id}});
    return replies && replies->front().integer == 1;
}

}  // namespace tollgate::cli
