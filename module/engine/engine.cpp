#include "module/engine/engine.hpp"

#include <memory>
#include <vector>

#include "module/redis/protocol/node_calls.hpp"
#include "module/redis/protocol/recall.hpp"

namespace tollgate::engine {

namespace {

/// Logs what Redis refuses to the publication of the plan tables.
class PublicationReply final : public NodeCall::Reply {
  public:
    explicit PublicationReply(Engine& engine) : engine_(engine) {}

    void on_result(redis::ReplyValues values) noexcept override {
        if (const auto refusal = redis::read_refused_history(values)) {
            engine_.log_refusal(LogLevel::kError,
                                "no request can be counted after the end of this day, because "
                                "Redis refuses a command for the history: ",
                                *refusal);
        }
    }
    void on_failure() noexcept override {}  // The next connection publishes them again.

  private:
    Engine& engine_;
};

}  // namespace

void Engine::publish_plans() noexcept {
    attempt(log(), [&] {
        const redis::Slot slot = slot_of_key(settings().keys.plans());
        if (worker().number() != 0 || !transport().is_reachable(slot)) {
            return;
        }
        std::vector<const PlanTable*> own;
        for (const ServedTable& served : tables()) {
            if (served.redis == settings().name_hash) {
                own.push_back(served.table);
            }
        }
        if (!own.empty()) {
            const auto now = std::chrono::floor<std::chrono::seconds>(clock().wall());
            publications_.run(slot, redis::publish_call(settings().keys, own, now),
                              std::make_unique<PublicationReply>(*this));
        }
    });
}

void Engine::on_event(std::string_view message) noexcept {
    const auto recall = redis::read_recall(message);
    if (!recall) {
        identity_.changes.on_change(message);
    } else if (recall->what == redis::Recall::What::kLeases) {
        quotas_.settlement.recall(*recall);
    } else {
        flights_.recall(recall->id);
    }
}

void Engine::shut_down() noexcept {
    attempt(log(), [&] { quotas_.settlement.shut_down(); });
    flights_.shut_down();
    identity_.uses.shut_down();
    identity_.changes.subscription().shut_down();
}

}  // namespace tollgate::engine
