#pragma once

#include <span>
#include <string_view>

#include "module/core/redis_clock.hpp"
#include "module/redis/pipeline.hpp"

namespace tollgate::http {

class Decision;

/// Waits for the look-up of a key on behalf of a decision, which may be gone before it is answered.
class KeyWaiter : public redis::ReplyHandler {
  public:
    explicit KeyWaiter(Decision& decision);

    void detach() { decision_ = nullptr; }

    void on_values(std::span<const redisReply* const> values) noexcept override;
    void on_error(std::string_view message) noexcept override;
    void on_failure() noexcept override;

  private:
    Decision* decision_;
    SteadyTime asked_;
};

}  // namespace tollgate::http
