#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "module/engine/admission.hpp"
#include "module/http/management/operation_turns.hpp"
#include "module/http/redis/redis_client.hpp"
#include "module/management/admin/caller_rights.hpp"

namespace tollgate::http {

/// The rights of the key that made a request of tollgate_admin, by the rule that admits requests:
/// the same authentication, plan, scopes and addresses. It outlives the request, because an
/// operation goes on when its client has left.
class KeyRights final : public management::CallerRights, private engine::Admission::Client {
  public:
    /// What a request was admitted with.
    struct Key {
        std::string token;
        std::vector<unsigned char> address;  ///< of the client
        std::string scopes;                  ///< that the request requires
        engine::TableSet& tables;            ///< must outlive the object
        RedisClient& transport;              ///< to the Redis of the tables; must outlive it, too
    };
    /// The turns must outlive the object.
    KeyRights(Key key, OperationTurns& turns) : key_(std::move(key)), turns_(turns) {}

    /// If Redis has to be asked for the key, `done` is called in a later turn.
    void check(Done done) override;

    /// Why the last check has refused the caller.
    const engine::Outcome& outcome() const { return admission_->outcome(); }

  private:
    std::string_view value(std::size_t /*table*/) override { return {}; }
    Cost cost() override { return 0; }
    AddressBytes address() const override { return key_.address; }
    Log& log() noexcept override { return key_.transport.context().log(); }
    void on_outcome() noexcept override;
    void finish();

    Key key_;
    OperationTurns& turns_;
    std::optional<engine::Admission> admission_;
    std::unique_ptr<Timer> timer_;  ///< of a check that waits for Redis
    bool is_waiting_ = false;
    Done done_;
};

}  // namespace tollgate::http
