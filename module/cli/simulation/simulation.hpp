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

#include "module/cli/simulation/log_reader.hpp"
#include "module/cli/simulation/recent_requests.hpp"
#include "module/cli/terminal/output.hpp"
#include "module/plan/plan.hpp"
#include "module/plan/window_decision.hpp"

namespace tollgate::cli {

/// The plan tables that decide the requests of a location.
struct LocationTables {
    std::string prefix;                    ///< of the URI
    std::vector<const PlanTable*> tables;  ///< empty: `off`
};

/// Refusals by one window of an id: those for which it is the window that a 429 shows.
struct WindowRefusals {
    std::string table;
    Period period;
    std::int64_t refused = 0;  ///< requests
    Instant worst{};           ///< start of the window with the most refusals; the first of several
    std::int64_t worst_refused = 0;
    Instant last{};  ///< start of the window of the last refusal
    std::int64_t refused_in_last = 0;
    bool is_bucket = false;  ///< the windows are those of its period

    /// `minute`, `second bucket`.
    std::string name() const { return period_name(period) + (is_bucket ? " bucket" : ""); }
};

/// An id of which requests would have been refused.
struct RefusedId {
    std::string id;
    std::string plan;  ///< of its last request
    std::int64_t requests = 0;
    std::int64_t refused = 0;         ///< with 429
    std::int64_t forbidden = 0;       ///< with 403: its plan is not in a table
    std::int64_t refused_in_log = 0;  ///< with 429, by the gateway that wrote the log
    Instant first = Instant::max();   ///< the first request that would have been refused
    Instant last = Instant::min();
    std::vector<WindowRefusals> windows;  ///< the one with the worst window first
};

/// What a plan allows in one table, as the file defines it.
struct PlanInTable {
    std::string table;
    /// Rates, `custom`, `unlimited`, without `in_flight`; empty: the plan is not in the table.
    std::string limits;
    bool sliding = false;
};

/// The requests of one plan.
struct PlanRequests {
    std::string plan;  ///< may be empty
    std::vector<PlanInTable> tables;
    std::int64_t ids = 0;  ///< whose last request has this plan
    std::int64_t refused_ids = 0;
    std::int64_t requests = 0;
    std::int64_t refused = 0;
    std::int64_t forbidden = 0;
    std::int64_t without_limits = 0;  ///< `custom` in a table, and no limits are given: not decided
};

/// Lines that are not counted.
struct SkippedLines {
    std::int64_t without_id = 0;
    std::int64_t forbidden = 0;  ///< the gateway that wrote the log refused them with 403
    std::int64_t outside = 0;    ///< no location, or `off`
    std::int64_t repeated = 0;   ///< further lines of a request: of subrequests, or in another log
};

struct SimulationResult {
    LinesRead read;
    SkippedLines skipped;
    std::int64_t requests = 0;  ///< counted
    std::int64_t ids = 0;
    std::int64_t refused = 0;
    std::int64_t forbidden = 0;
    std::int64_t without_limits = 0;
    std::int64_t refused_in_log = 0;
    std::int64_t late = 0;      ///< decided after requests that began later
    bool has_id_field = false;  ///< in any line
    Instant first{};            ///< of the counted requests
    Instant last{};
    std::vector<PlanRequests> plans;     ///< by name
    std::vector<RefusedId> refused_ids;  ///< the one with the most refusals first
};

/// What `tollgate simulate` prints, with the last line end.
std::string render_simulation(Format format, const SimulationResult& result);

/// The keys that the simulation assumes.
struct AssumedKeys {
    std::string plan;    ///< of requests whose line has none
    std::string limits;  ///< for `custom` plans, as parse_limits reads them; empty: not known
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
        std::int64_t requests = 0;
        std::uint32_t plan = 0;
        std::uint32_t refusals = 0;  ///< index in refused_, from 1; 0: none
    };
    /// Counts of different plans are shared if the table and the period are the same, as in Redis.
    struct Window {
        const PlanTable* table;
        Period period;
        bool is_bucket;
        bool operator==(const Window&) const = default;
    };

    std::uint32_t find_id(std::string_view id);
    std::uint32_t find_terms(std::size_t location, std::string_view plan);
    Terms make_terms(const LocationTables& location, const std::string& plan);
    std::size_t find_plan(const std::string& plan);
    std::uint32_t window_number_of(const PlanTable& table, const Rate& rate);
    void decide_earliest(std::size_t count);
    void decide(const Waiting& request);
    WindowCount& count_of(std::uint32_t window, std::uint32_t id);
    RefusedId& refusals_of(Id& id);
    static void note_refusal(RefusedId& id, const Window* window, Instant at);

    std::span<const PlanTable> tables_;
    std::vector<LocationTables> locations_;
    AssumedKeys keys_;
    std::size_t out_of_order_;

    std::deque<std::string> names_;  ///< of the ids
    std::unordered_map<std::string_view, std::uint32_t> id_numbers_;
    std::vector<Id> ids_;
    std::vector<RefusedId> refused_;

    std::vector<Window> windows_;
    std::vector<std::vector<WindowCount>> counts_;  ///< by window, then by id
    std::vector<Terms> terms_;
    std::vector<std::map<std::string, std::uint32_t, std::less<>>> terms_by_plan_;  ///< by location

    std::vector<Waiting> waiting_;
    RecentRequests recent_;
    Instant decided_until_{};
    std::vector<CountedWindow> deciding_;  ///< the windows of one request
    SimulationResult result_;
};

}  // namespace tollgate::cli
