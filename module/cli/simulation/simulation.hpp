#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "module/cli/simulation/id_windows.hpp"
#include "module/cli/simulation/location_tables.hpp"
#include "module/cli/simulation/log_line.hpp"
#include "module/cli/simulation/recent_requests.hpp"
#include "module/cli/simulation/refusals.hpp"
#include "module/cli/simulation/simulation_result.hpp"
#include "module/cli/simulation/window_decision.hpp"
#include "module/quota/plan.hpp"

namespace tollgate::cli {

/// The keys that the simulation assumes.
struct AssumedKeys {
    std::string plan;    ///< of requests whose line has none
    std::string limits;  ///< for `custom` plans, as parse_rates reads them; empty: not known
};

/// Decides the requests of a log by other plan tables, as a gateway would that is the only one and
/// has no outages. Bans, budgets of addresses and leases are left out. A request that the log's own
/// gateway refused is tried again. Memory is taken for each id, not for each request.
class Simulation {
  public:
    /// By default, lines may be out of order by so many lines.
    static constexpr std::size_t kOutOfOrder = std::size_t{1} << 19U;

    /// The tables must outlive the object.
    Simulation(std::span<const PlanTable> tables, std::vector<LocationTables> locations,
               AssumedKeys keys, std::size_t out_of_order = kOutOfOrder);

    /// Adds a request of the log. Requests may be out of order: see SimulationResult::late.
    void add(const LoggedRequest& request);

    /// Decides the requests that are left. Call it once, at the end.
    SimulationResult finish();

  private:
    /// How the requests of a plan in a location are decided.
    struct Terms {
        enum class Kind { kDecided, kForbidden, kWithoutLimits };
        Kind kind = Kind::kDecided;
        std::size_t plan = 0;                ///< index in plans_
        std::vector<CountedWindow> windows;  ///< of all tables; empty: unlimited. Without counts
        std::vector<std::uint32_t> numbers;  ///< of these windows, see windows_
    };
    /// A request that waits until those before it are known.
    struct Waiting {
        Instant began;
        std::int64_t cost;
        std::uint64_t request;  ///< hash of its `$request_id`; 0: not known
        std::uint32_t id;
        std::uint32_t terms : 31;
        std::uint32_t is_refused : 1;  ///< in the log
    };
    struct Id {
        IdWindows::Place windows;
        std::int64_t requests = 0;
        std::uint32_t plan = 0;
        std::uint32_t refusals = 0;  ///< index in refusals_, from 1; 0: none
    };
    /// Counts of different plans are shared if the table and the period are the same, as in Redis.
    struct Window {
        const PlanTable* table;
        Period period;
        bool operator==(const Window&) const = default;
    };

    std::uint32_t find_id(std::string_view id);
    std::uint32_t find_terms(std::size_t location, std::string_view plan);
    Terms make_terms(const LocationTables& location, const std::string& plan);
    std::size_t find_plan(const std::string& plan);
    std::uint32_t window_number_of(const PlanTable& table, Period period);
    void decide_earliest(std::size_t count);
    void decide(const Waiting& request);
    Refusals& refusals_of(Id& id);
    RefusedId result_of(std::size_t number) const;

    std::span<const PlanTable> tables_;
    std::vector<LocationTables> locations_;
    AssumedKeys keys_;
    std::size_t out_of_order_;

    std::deque<std::string> names_;  ///< of the ids
    std::unordered_map<std::string_view, std::uint32_t> id_numbers_;
    std::vector<Id> ids_;
    IdWindows counts_;
    std::vector<Refusals> refusals_;

    std::vector<Window> windows_;
    std::vector<Terms> terms_;
    std::vector<std::map<std::string, std::uint32_t, std::less<>>> terms_by_plan_;  ///< by location

    std::vector<Waiting> waiting_;
    RecentRequests recent_;
    Instant decided_until_{};
    std::vector<CountedWindow> deciding_;  ///< the windows of one request
    SimulationResult result_;
};

}  // namespace tollgate::cli
