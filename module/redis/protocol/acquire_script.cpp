#include <array>
#include <chrono>
#include <string>
#include <string_view>

#include "module/plan/units.hpp"
#include "module/redis/protocol/lua_text.hpp"
#include "module/redis/protocol/node_script.hpp"
#include "module/redis/protocol/schema.hpp"
#include "module/redis/protocol/script.hpp"

namespace tollgate::redis {

namespace {

/// The files of scripts/acquire/. A file inserts only files that come after it here.
constexpr std::array kInserted{
    ScriptFile{
        "read_terms",
#include "module/redis/protocol/scripts/acquire/read_terms.lua"
    },
    ScriptFile{
        "decide_frequent",
#include "module/redis/protocol/scripts/acquire/decide_frequent.lua"
    },
    ScriptFile{
        "decide",
#include "module/redis/protocol/scripts/acquire/decide.lua"
    },
    ScriptFile{
        "read_windows",
#include "module/redis/protocol/scripts/acquire/read_windows.lua"
    },
    ScriptFile{
        "write_windows",
#include "module/redis/protocol/scripts/acquire/write_windows.lua"
    },
};

/// The files of scripts/acquire/rare/, and what other scripts have, too: each returns a function.
constexpr std::array kRare{
    ScriptFile{
        "adjust",
#include "module/redis/protocol/scripts/acquire/rare/adjust.lua"
    },
    ScriptFile{
        "choose_counter",
#include "module/redis/protocol/scripts/acquire/rare/choose_counter.lua"
    },
    ScriptFile{
        "count_value",
#include "module/redis/protocol/scripts/acquire/rare/count_value.lua"
    },
    ScriptFile{
        "enlist",
#include "module/redis/protocol/scripts/acquire/rare/enlist.lua"
    },
    ScriptFile{
        "expire",
#include "module/redis/protocol/scripts/acquire/rare/expire.lua"
    },
    ScriptFile{
        "month",
#include "module/redis/protocol/scripts/acquire/rare/month.lua"
    },
    ScriptFile{
        "move_days",
#include "module/redis/protocol/scripts/acquire/rare/move_days.lua"
    },
    ScriptFile{
        "notify",
#include "module/redis/protocol/scripts/acquire/rare/notify.lua"
    },
    ScriptFile{
        "read_ban",
#include "module/redis/protocol/scripts/acquire/rare/read_ban.lua"
    },
    ScriptFile{
        "recall",
#include "module/redis/protocol/scripts/recall.lua"
    },
    ScriptFile{
        "recall_leases",
#include "module/redis/protocol/scripts/acquire/rare/recall_leases.lua"
    },
    ScriptFile{
        "refill",
#include "module/redis/protocol/scripts/acquire/rare/refill.lua"
    },
    ScriptFile{
        "strike",
#include "module/redis/protocol/scripts/acquire/rare/strike.lua"
    },
    ScriptFile{
        "take_back",
#include "module/redis/protocol/scripts/acquire/rare/take_back.lua"
    },
};

/// The text of acquire.lua with that of the other files.
std::string acquire_text() {
    std::string text = with_rare(kRare,
#include "module/redis/protocol/scripts/acquire.lua"
    );
    for (const ScriptFile& file : kInserted) {
        const auto place = std::string("insert('").append(file.name).append("')");
        text.replace(text.find(place), place.size(), file.text);
    }
    return text;
}

}  // namespace

const Script& acquire_script() {
    static const Script script = make_node_script(
        acquire_text(),
        {{"ban_field.kStrikes", ban_field::kStrikes},
         {"ban_field.kSince", ban_field::kSince},
         {"ban_field.kLevel", ban_field::kLevel},
         {"ban_field.kUntil", ban_field::kUntil},
         {"kBalanceLength",
          std::to_string(std::chrono::milliseconds(Period::balance().length()).count())},
         {"kBalanceLeft", balance_field(window_part::kLeft)},
         {"kBanKey", kBanKey},
         {"kCounted", kCounted},
         {"kCredited", balance_field(window_part::kCredited)},
         {"kEventsKey", kEventsKey},
         {"kLastCredit", balance_field(window_part::kLastCredit)},
         {"kMostNotices", std::to_string(kMostNotices)},
         {"kMostUnits", std::to_string(Units::kMost)},
         {"kNoticesKept", std::to_string(std::chrono::milliseconds(kNoticesKept).count())},
         {"kQuotaKey", kQuotaKey},
         {"kRecallOf", kRecallOf},
         {"kReportNumber", kReportNumber},
         {"lease_field.kNode", lease_field::kNode},
         {"lease_field.kGrant", lease_field::kGrant},
         {"lease_field.kOfOther", lease_field::kOfOther},
         {"lease_field.kRecalled", lease_field::kRecalled},
         {"notice_field.kId", notice_field::kId},
         {"notice_field.kLevel", notice_field::kLevel},
         {"notice_field.kTable", notice_field::kTable},
         {"notice_field.kValue", notice_field::kValue},
         {"notice_field.kPeriod", notice_field::kPeriod},
         {"notice_field.kNumber", notice_field::kNumber},
         {"notice_field.kEnds", notice_field::kEnds},
         {"notice_field.kLimit", notice_field::kLimit},
         {"notice_field.kUsed", notice_field::kUsed},
         {"notice_field.kAgain", notice_field::kAgain},
         {"window_part.kNoticed", window_part::kNoticed},
         {"window_part.kValues", window_part::kValues},
         {"window_part.kWindowOfValues", window_part::kWindowOfValues}});
    return script;
}

}  // namespace tollgate::redis
