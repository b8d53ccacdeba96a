#pragma once

#include "module/engine/anonymous/shared_budgets.hpp"
#include "module/engine/engine_context.hpp"
#include "module/engine/identity/change_tracker.hpp"
#include "module/engine/identity/key_lookups.hpp"
#include "module/engine/identity/key_uses.hpp"
#include "module/engine/identity/known_keys.hpp"
#include "module/engine/identity/known_values.hpp"
#include "module/engine/in_flight/flights.hpp"
#include "module/engine/node_call.hpp"
#include "module/engine/node_heartbeat.hpp"
#include "module/engine/quota/acquire_batcher.hpp"
#include "module/engine/quota/settlement.hpp"
#include "module/engine/quota/slices.hpp"

namespace tollgate::engine {

/// What a worker does with one Redis: look-ups of keys, acquires of quotas, settlement of owed
/// units and leases, publication of the plan tables. It uses neither nginx nor sockets.
class Engine : public EngineContext {
  public:
    /// All arguments must outlive it. It must outlive the calls that it gives to the transport.
    using EngineContext::EngineContext;

    AcquireBatcher& acquires() { return acquires_; }
    KeyLookups& lookups() { return lookups_; }
    KnownKeys& known_keys() { return known_keys_; }
    KnownValues& known_values() { return known_values_; }
    KeyUses& uses() { return uses_; }
    Slices& slices() { return slices_; }
    Flights& flights() { return flights_; }
    SharedBudgets& shared_budgets() { return shared_budgets_; }
    Settlement& settlement() { return settlement_; }
    ChangeTracker& changes() { return changes_; }

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
    AcquireBatcher acquires_{*this, settlement_};
    Settlement settlement_{*this, acquires_, slices_};
    KeyLookups lookups_{*this};
    KnownKeys known_keys_;
    KnownValues known_values_;
    KeyUses uses_{*this};
    Slices slices_{*this, settlement_};
    Flights flights_{*this};
    SharedBudgets shared_budgets_{*this};
    ChangeTracker changes_{*this};
    NodeHeartbeat heartbeat_{*this};
};

}  // namespace tollgate::engine
