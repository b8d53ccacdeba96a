#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "module/management/billed_usage.hpp"
#include "module/management/counted_ids.hpp"
#include "module/management/database.hpp"
#include "module/management/usage_history.hpp"
#include "module/management/window_usage.hpp"

namespace tollgate::management {

/// Which part of the usage of all ids to read.
struct AllUsageQuery {
    std::optional<std::string> after{};  ///< UsagePage::next of the page before
    std::size_t limit = 100;             ///< of ids
    DayRange days{};
    CountedIds::Subjects subjects = CountedIds::Subjects::kOmittedInCluster;
    std::optional<BilledBy> by{};  ///< reads the periods that end in `days`, in place of days
};

/// What some ids were granted. Each has at least one day or, with AllUsageQuery::by, one period.
struct UsagePage {
    struct OfId {
        std::string id;
        UsageHistory days;
        std::vector<BilledPeriod> periods;  ///< in place of the days
    };
    std::vector<OfId> ids;
    std::optional<std::string> next;  ///< empty: there are no further ids
};

/// Reads a page of the usage of all CountedIds. Ids without a day in the range are left out. The
/// page ends early if its ids have many days. The tables must outlive the task. Throws
/// OperationError.
Task<UsagePage> read_all_usage(Database& database, const redis::Keys& keys, AllUsageQuery query,
                               CountingTables tables);

}  // namespace tollgate::management
