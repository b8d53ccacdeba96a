#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "module/key/key_record.hpp"
#include "module/management/usage_history.hpp"
#include "module/management/window_usage.hpp"
#include "module/text/json_writer.hpp"

namespace tollgate::management {

/// Some days of a history.
struct DayRange {
    std::optional<std::chrono::sys_days> from{};
    std::optional<std::chrono::sys_days> to{};

    bool contains(std::chrono::sys_days day) const {
        return (!from || day >= *from) && (!to || day <= *to);
    }
};

/// What an invoice counts: UTC days, or the months of an id (see BillingDay).
enum class BilledBy : std::uint8_t { kDay, kMonth };

/// The names of BilledBy, in its order: `day`, `month`.
inline constexpr std::array<std::string_view, 2> kBilledBy{"day", "month"};

/// Reads one of kBilledBy; nullopt for another text.
std::optional<BilledBy> parse_billed_by(std::string_view text);

/// What an id was granted in one day or month in one plan table.
struct BilledPeriod {
    std::string table;
    std::chrono::sys_days first;
    std::chrono::sys_days last;
    std::int64_t units = 0;
    /// The limit of this period in the plan that the id has, or had when it was revoked. Empty: it
    /// has none, or none is known.
    std::optional<std::int64_t> limit;
    std::int64_t over = 0;  ///< the units beyond the limit; 0 without a limit
};

/// The days or months of a history that end in this range, by their first day and table. `record`
/// is that of the id; nullptr: Redis has none, as of a subject, so its months are those of the
/// calendar, and no limit is known.
std::vector<BilledPeriod> billed_periods(const UsageHistory& history, BilledBy by,
                                         const DayRange& ended, const KeyRecord* record,
                                         const CountingTables& tables);

/// Writes the members of the JSON object of a period.
void write_period(JsonWriter& json, const BilledPeriod& period);

}  // namespace tollgate::management
