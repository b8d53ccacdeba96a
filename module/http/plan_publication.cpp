#include "module/http/plan_publication.hpp"

#include "module/http/clock.hpp"
#include "module/http/redis_client.hpp"
#include "module/quota/published_plans.hpp"
#include "module/redis/protocol/log_text.hpp"
#include "module/redis/protocol/script.hpp"

namespace tollgate::http {

/// Tells the log that the tables are not written, if Redis refuses them.
class PlanPublication::Answer : public redis::ReplyHandler {
  public:
    explicit Answer(const RedisClient& client) : client_(client) {}

    void on_values(std::span<const redisReply* const> /*values*/) noexcept override {}
    void on_error(std::string_view message) noexcept override {
        const redis::LogText shown(message);
        ngx_str_t text = borrow(shown);
        ngx_log_error(NGX_LOG_WARN, client_.log(), 0,
                      "tollgate: redis \"%s\": plan tables are not published for the command: %V",
                      client_.conf().endpoint.name.c_str(), &text);
    }
    void on_failure() noexcept override {}  // The next connection publishes them.

  private:
    const RedisClient& client_;
};

void PlanPublication::begin() noexcept {
    if (ngx_worker != 0 || !client_.connection().is_reachable()) {
        return;
    }
    guarded(client_.log(), false, [&] {
        const auto now = std::chrono::floor<std::chrono::seconds>(node_time());
        redis::Call call{&redis::publish_script(), {client_.conf().keys.plans()}};
        for (const auto& table : client_.main().tables) {
            if (table->redis == &client_.conf()) {
                call.arguments.add(table->table.name);
                call.arguments.add(write_published_table(table->table, now));
            }
        }
        if (call.arguments.size() > 0) {
            client_.connection().run(std::move(call), std::make_unique<Answer>(client_));
        }
        return true;
    });
}

}  // namespace tollgate::http
