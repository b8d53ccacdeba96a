#include "module/redis/greeting.hpp"

#include <array>
#include <vector>

#include "module/redis/reply.hpp"

namespace tollgate::redis {

void Greeting::begin(const std::string& username, const std::string& password, int database,
                     std::string& out) {
    awaited_ = 0;
    if (!password.empty()) {
        std::vector<std::string_view> auth{"AUTH", password};
        if (!username.empty()) {
            auth.insert(auth.begin() + 1, username);
        }
        append_command(out, auth);
        ++awaited_;
    }
    if (database != 0) {
        const auto number = std::to_string(database);
        append_command(out, std::array<std::string_view, 2>{"SELECT", number});
        ++awaited_;
    }
}

bool Greeting::take(const redisReply& reply) {
    --awaited_;
    return reply.type != REDIS_REPLY_ERROR;
}

}  // namespace tollgate::redis
