#pragma once

#include "module/cli/redis/redis_session.hpp"
#include "module/management/database.hpp"

namespace tollgate::cli {

/// Executes the transactions of operations in a session. It blocks: every task runs to its end when
/// it is started. Failures of the session are those of the task.
class SessionDatabase final : public management::Database {
  public:
    /// Both must outlive the object.
    SessionDatabase(RedisSession& session, const redis::Keys& keys)
        : session_(session), keys_(keys) {}

    void execute(std::vector<management::Transaction> transactions, Done done) override;
    void wait(std::chrono::milliseconds time, Done done) override;
    bool may_span(std::string_view key, std::string_view other) const override {
        return session_.may_span(key, other);
    }
    management::Task<management::Durability> acknowledge() override;

  private:
    std::vector<management::Replies> execute_all(
        const std::vector<management::Transaction>& transactions);

    RedisSession& session_;
    const redis::Keys& keys_;
};

}  // namespace tollgate::cli
