#pragma once

namespace tollgate::http {

class RedisClient;

/// Writes the plan tables of one Redis into its hash `plans`, from which the command knows plans
/// and limits. The first worker does it, on each connection: a Redis that was emptied has them
/// again. Requests don't depend on it.
class PlanPublication {
  public:
    /// `client` must outlive it.
    explicit PlanPublication(RedisClient& client) : client_(client) {}

    /// Publishes the tables, once on a connection. Does nothing while the breaker is open.
    void begin() noexcept;

  private:
    class Answer;

    RedisClient& client_;
};

}  // namespace tollgate::http
