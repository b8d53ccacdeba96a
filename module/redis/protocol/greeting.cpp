#include "module/redis/protocol/greeting.hpp"

#include "module/redis/protocol/command.hpp"

namespace tollgate::redis {

void Greeting::begin(const std::string& username, const std::string& password, int database,
                     std::string& out) {
    awaited_ = 0;
    if (!password.empty()) {
        append_command(
            out, username.empty() ? Words{"AUTH", password} : Words{"AUTH", username, password});
        ++awaited_;
    }
    if (database != 0) {
        append_command(out, {"SELECT", std::to_string(database)});
        ++awaited_;
    }
}

bool Greeting::take(const redisReply& reply) {
    --awaited_;
    return reply.type != REDIS_REPLY_ERROR;
}

}  // namespace tollgate::redis
