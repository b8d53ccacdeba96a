#include <algorithm>
#include <chrono>
#include <string>

#include "module/cli/commands/operation_failure.hpp"
#include "module/cli/doctor/finding.hpp"
#include "module/cli/notify/notice.hpp"
#include "module/cli/notify/notice_queue.hpp"
#include "module/cli/terminal/time_text.hpp"
#include "module/management/key_reader.hpp"

namespace tollgate::cli {

std::vector<Finding> findings_of_notices(RedisSession& session,
                                         const std::vector<PlanTable>& tables) {
    using namespace std::chrono_literals;
    constexpr auto kMostDelay = 1h;
    const auto is_noticed = [](const PlanTable& table) { return !table.notify.empty(); };
    if (std::ranges::none_of(tables, is_noticed)) {
        return {};
    }
    if (notice_members(session).empty()) {
        return {{"notices",
                 "plan tables have \"notify\", and no tollgate notify delivers the notices: start "
                 "one, or let this user call XINFO"}};
    }
    const auto first =
        session.run_if_accepted({"XRANGE", session.keys().notices(), "-", "+", "COUNT", "1"});
    const auto notice =
        first && !first->elements.empty() ? read_notice(first->elements[0]) : std::nullopt;
    if (!notice) {
        return {};
    }
    const auto waited =
        complete(management::KeyReader(session, session.keys()).now()) - notice->noted;
    if (waited < kMostDelay) {
        return {};
    }
    return {{"notices", "the oldest notice has waited for " + format_duration(waited) +
                            ": see the messages of tollgate notify, or start more of them"}};
}

}  // namespace tollgate::cli
