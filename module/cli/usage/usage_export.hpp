#pragma once

#include <string>
#include <vector>

#include "module/cli/redis/redis_session.hpp"
#include "module/cli/terminal/output.hpp"
#include "module/management/usage_history.hpp"
#include "module/quota/plan.hpp"
#include "module/redis/protocol/schema.hpp"

namespace tollgate::cli {

/// The days that `tollgate export usage` prints, as on the command line: `2027-01-31`.
struct ExportedDays {
    std::string from;  ///< the first; empty: the earliest in Redis
    std::string to;    ///< the last; empty: yesterday, by Redis's clock
};

/// Prints what each id was granted in each of these days in each plan table that keeps a history,
/// ordered by id, day and table: CSV with a heading, or JSON lines. It searches all of Redis for
/// ids, so that revoked ids are printed as well. Throws Failure.
void export_usage(RedisSession& session, management::Database& database, const redis::Keys& keys,
                  const std::vector<PlanTable>& tables, Format format, const ExportedDays& days);

}  // namespace tollgate::cli
