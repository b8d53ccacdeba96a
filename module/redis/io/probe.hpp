#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "module/quota/redis_clock.hpp"
#include "module/redis/protocol/interface.hpp"
#include "module/redis/protocol/pipeline.hpp"

namespace tollgate::redis {

/// Redis's clock showed `time` between `sent` and `received` of the steady clock.
struct ObservedTime {
    ExactSteadyTime sent;
    ExactSteadyTime received;
    ExactInstant time;
};

/// Receives the result of a probe.
class ProbeOwner : public Interface {
  public:
    /// Redis accepts writes. No time if the probe's key is not usable: another program uses it, or
    /// another node of the cluster has it.
    virtual void on_accepted(const std::optional<ObservedTime>& time) noexcept = 0;
    /// The reply does not show that Redis accepts writes. Not called for an error of
    /// ErrorScope::kServer, which the reader of the replies handles, nor for a lost connection.
    virtual void on_not_accepted(std::string_view reason) noexcept = 0;
};

/// The first call on a new connection: tests whether Redis accepts writes, and reads its clock.
class Probe final : public ReplyHandler {
  public:
    /// `owner` must outlive the probe.
    explicit Probe(ProbeOwner& owner) : owner_(owner), sent_(Pipeline::Clock::now()) {}

    /// The call of a probe that writes `key`.
    static Call call(const std::string& key);

    void on_values(std::span<const redisReply* const> values) noexcept override;
    void on_error(std::string_view message) noexcept override;
    void on_failure() noexcept override {}

  private:
    ProbeOwner& owner_;
    Pipeline::Time sent_;
};

}  // namespace tollgate::redis
