#include "module/gateway/plan_publication.hpp"

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "module/gateway/engine.hpp"
#include "module/quota/published_plans.hpp"
#include "module/redis/protocol/reply.hpp"

namespace tollgate::gateway {

namespace {

/// Logs what Redis refuses.
class PublicationReply : public redis::ReplyHandler {
  public:
    explicit PublicationReply(Engine& engine) : engine_(engine) {}

    void on_values(std::span<const redisReply* const> values) noexcept override {
        if (values.size() == 1 && values[0]->type == REDIS_REPLY_STRING) {
            engine_.log_refusal(LogLevel::kError,
                                "no request can be counted after the end of this day, because "
                                "Redis refuses a command for the history: ",
                                redis::text_of(*values[0]));
        }
    }
    void on_error(std::string_view message) noexcept override {
        engine_.log_refusal(LogLevel::kWarning,
                            "plan tables are not published for the command: ", message);
    }
    void on_failure() noexcept override {}  // The next connection publishes them again.

  private:
    Engine& engine_;
};

}  // namespace

void publish_plans(Engine& engine, redis::Slot slot) {
    const auto now = std::chrono::floor<std::chrono::seconds>(engine.clock().wall());
    std::vector<const PlanTable*> tables;
    for (const ServedTable& served : engine.tables()) {
        if (served.redis == engine.settings().name_hash) {
            tables.push_back(served.table);
        }
    }
    const bool has_history = std::ranges::any_of(tables, &PlanTable::has_history);
    redis::Call call{&redis::publish_script(), {engine.settings().keys.plans()}};
    call.arguments.add(has_history ? "1" : "0");
    for (const PlanTable* table : tables) {
        call.arguments.add(table->name);
        call.arguments.add(write_published_table(*table, now));
    }
    if (!tables.empty()) {
        engine.transport().run(slot, std::move(call), std::make_unique<PublicationReply>(engine));
    }
}

}  // namespace tollgate::gateway
