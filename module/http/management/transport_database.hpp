#pragma once

#include <memory>
#include <vector>

#include "module/http/redis_transport.hpp"
#include "module/management/database.hpp"

namespace tollgate::http {

/// Executes the transactions of operations over a worker's own connections. It never blocks.
/// OperationError tells what failed. Destroying it cancels waits; their `done` is not called.
class TransportDatabase final : public management::Database {
  public:
    /// The transport must outlive it.
    explicit TransportDatabase(RedisTransport& transport) : transport_(transport) {}

    void execute(std::vector<management::Transaction> transactions, Done done) override;
    void wait(std::chrono::milliseconds time, Done done) override;
    /// In a cluster only if the keys are the same: while a slot migrates, a script with two keys of
    /// it may fail until the end of the migration (TRYAGAIN).
    bool may_span(std::string_view key, std::string_view other) const override;
    /// Durability::kUnverified: it does not ask for replicas and masters.
    void acknowledge(Acknowledged done) override { done(management::Durability::kUnverified); }

    const redis::Keys& keys() const { return transport_.engine().settings().keys; }
    /// The plan tables that count in this Redis.
    std::vector<const PlanTable*> tables() const;

  private:
    struct Wait {
        std::unique_ptr<gateway::Timer> timer;
        Done done;
    };

    RedisTransport& transport_;
    std::vector<std::unique_ptr<Wait>> waits_;
};

}  // namespace tollgate::http
