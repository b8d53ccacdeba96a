#include "module/gateway/plan_publication.hpp"

#include <memory>
#include <string>

#include "module/gateway/engine.hpp"
#include "module/quota/published_plans.hpp"
#include "module/redis/protocol/log_text.hpp"

namespace tollgate::gateway {

namespace {

/// Logs an error that Redis answers with.
class PublicationReply : public redis::ReplyHandler {
  public:
    explicit PublicationReply(const Engine& engine) : engine_(engine) {}

    void on_values(std::span<const redisReply* const> /*values*/) noexcept override {}
    void on_error(std::string_view message) noexcept override {
        attempt(engine_.log(), [&] {
            const redis::LogText shown(message);
            std::string line = "redis \"" + engine_.settings().name +
                               "\": plan tables are not published for the command: ";
            engine_.log().write(LogLevel::kWarning, line.append(shown));
        });
    }
    void on_failure() noexcept override {}  // The next connection publishes them again.

  private:
    const Engine& engine_;
};

}  // namespace

void publish_plans(Engine& engine, redis::Slot slot) {
    const auto now = std::chrono::floor<std::chrono::seconds>(engine.clock().wall());
    redis::Call call{&redis::publish_script(), {engine.settings().keys.plans()}};
    for (const ServedTable& served : engine.tables()) {
        if (served.redis == engine.settings().name_hash) {
            call.arguments.add(served.table->name);
            call.arguments.add(write_published_table(*served.table, now));
        }
    }
    if (call.arguments.size() > 0) {
        engine.transport().run(slot, std::move(call), std::make_unique<PublicationReply>(engine));
    }
}

}  // namespace tollgate::gateway
