#pragma once

#include "module/engine/anonymous/anonymous_budgets.hpp"
#include "module/engine/engine_context.hpp"
#include "module/engine/identity/identity_parts.hpp"
#include "module/engine/in_flight/flights.hpp"
#include "module/engine/node_call.hpp"
#include "module/engine/node_heartbeat.hpp"
#include "module/engine/quota/quota_parts.hpp"

namespace tollgate::engine {

/// What a worker does with one Redis: builds the parts of the four wings and tells them of events,
/// and publishes the plan tables. It uses neither nginx nor sockets. No part reaches another one
/// through it.
class Engine : public EngineContext {
  public:
    /// All arguments must outlive it. It must outlive the calls that it gives to the transport.
    using EngineContext::EngineContext;

    IdentityParts& identity() { return identity_; }
    QuotaParts& quotas() { return quotas_; }
    Flights& flights() { return flights_; }
    AnonymousBudgets& anonymous() { return anonymous_; }

    /// Writes the plan tables of this Redis into its hash `plans`. The command reads plans and
    /// limits there. Only the first worker does it, and only while Redis is reachable. No request
    /// depends on it.
    void publish_plans() noexcept;

    /// The channel `events` has this message: a recall of leases or of places, or a change that
    /// ChangeTracker knows.
    void on_event(std::string_view message) noexcept;

    /// A graceful shutdown of this worker has begun.
    void shut_down() noexcept;

  private:
    NodeCall publications_{*this, LogLevel::kWarning,
                           "plan tables are not published for the command: "};
    QuotaParts quotas_{*this};
    IdentityParts identity_{*this, quotas_.slices};
    Flights flights_{*this};
    AnonymousBudgets anonymous_{*this};
    NodeHeartbeat heartbeat_{*this};
};

}  // namespace tollgate::engine
