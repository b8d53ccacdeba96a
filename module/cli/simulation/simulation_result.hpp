#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "module/cli/simulation/log_reader.hpp"
#include "module/quota/window.hpp"

namespace tollgate::cli {

/// Refusals by one window of an id: those for which it is the window that a 429 shows.
struct WindowRefusals {
    std::string table;
    Period period;
    std::int64_t refused = 0;  ///< requests
    Instant worst{};           ///< start of the window with the most refusals; the first of several
    std::int64_t worst_refused = 0;
};

/// An id of which requests would have been refused.
struct RefusedId {
    std::string id;
    std::string plan;  ///< of its last request
    std::int64_t requests = 0;
    std::int64_t refused = 0;         ///< with 429
    std::int64_t forbidden = 0;       ///< with 403: its plan is not in a table
    std::int64_t refused_in_log = 0;  ///< with 429, by the gateway that wrote the log
    Instant first{};                  ///< the first request that would have been refused
    Instant last{};
    std::vector<WindowRefusals> windows;  ///< the one with the worst window first
};

/// What a plan allows in one table, as the file defines it.
struct PlanInTable {
    std::string table;
    std::string limits;  ///< rates, `custom`, `unlimited`; empty: the plan is not in the table
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

}  // namespace tollgate::cli
