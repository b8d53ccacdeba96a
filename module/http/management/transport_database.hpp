#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "module/http/management/operation_turns.hpp"
#include "module/http/management/worker_deployment.hpp"
#include "module/http/redis/redis_client.hpp"
#include "module/management/database.hpp"

namespace tollgate::http {

/// Executes the transactions of one operation over the connections that a worker has for
/// management. It never blocks.
/// OperationError tells what failed. Destroying it cancels waits; their `done` is not called.
class TransportDatabase final : public management::Database {
  public:
    /// The transport and the turns must outlive it. `arrival` is that of the request.
    TransportDatabase(RedisClient& transport, OperationTurns& turns, SteadyTime arrival)
        : transport_(transport),
          context_(transport.context()),
          turns_(turns),
          arrival_(arrival),
          redirections_(context_.statistics()["redirections"].value()) {}

    void execute(std::vector<management::Transaction> transactions, Done done) override;
    void wait(std::chrono::milliseconds time, Done done) override;
    bool defer(std::coroutine_handle<> task) override;
    std::chrono::milliseconds elapsed() const override;
    /// In a cluster only if the keys are the same: while a slot migrates, a script with two keys of
    /// it may fail until the end of the migration (TRYAGAIN).
    bool may_span(std::string_view key, std::string_view other) const override;
    management::Task<management::Durability> acknowledge() override;

    /// Notes the server that executes calls of this slot. For the reply to a transaction, and for a
    /// call that is sent: a redirection or a new map may come between the two.
    void note_use(redis::Slot slot);

    const redis::Keys& keys() const { return context_.settings().keys; }
    /// The plan tables that count in this Redis.
    std::vector<const PlanTable*> tables() const;

  private:
    struct Batch;
    class BatchReply;
    struct Wait {
        std::unique_ptr<Timer> timer;
        Done done;
    };

    void send(const std::shared_ptr<Batch>& batch);
    void send_rest(const std::shared_ptr<Batch>& batch) noexcept;
    void finish_one(const std::shared_ptr<Batch>& batch);

    RedisClient& transport_;
    engine::EngineContext& context_;
    OperationTurns& turns_;
    const SteadyTime arrival_;
    UsedServers used_;            ///< since the last acknowledgement that confirmed all
    std::uint64_t redirections_;  ///< of the worker, at that time
    std::vector<std::unique_ptr<Wait>> waits_;
};

}  // namespace tollgate::http
