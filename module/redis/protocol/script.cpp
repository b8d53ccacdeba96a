#include "module/redis/protocol/script.hpp"

#include "module/key/digest.hpp"
#include "module/redis/protocol/lua_text.hpp"
#include "module/redis/protocol/schema.hpp"

namespace tollgate::redis {

Script make_script(std::string_view text,
                   std::initializer_list<std::pair<std::string_view, std::string_view>> names) {
    std::string full(text);
    for (const auto& [name, field] : names) {
        const auto quoted = std::string("'").append(field).append("'");
        for (auto at = full.find(name); at != std::string::npos;
             at = full.find(name, at + quoted.size())) {
            full.replace(at, name.size(), quoted);
        }
    }
    auto sha1 = sha1_hex(full);
    return {std::move(full), std::move(sha1)};
}

const Script& acquire_script() {
    static const Script script = make_script(
#include "module/redis/protocol/scripts/acquire.lua"
        , {{"ban_field.kStrikes", ban_field::kStrikes},
           {"ban_field.kSince", ban_field::kSince},
           {"ban_field.kLevel", ban_field::kLevel},
           {"ban_field.kUntil", ban_field::kUntil},
           {"kBanKey", kBanKey},
           {"kEventsKey", kEventsKey},
           {"kQuotaKey", kQuotaKey},
           {"kRecallOf", kRecallOf},
           {"kReportNumber", kReportNumber},
           {"lease_field.kNode", lease_field::kNode},
           {"lease_field.kTime", lease_field::kTime},
           {"lease_field.kOfOther", lease_field::kOfOther},
           {"lease_field.kRecalled", lease_field::kRecalled},
           {"notice_field.kId", notice_field::kId},
           {"notice_field.kLevel", notice_field::kLevel},
           {"notice_field.kTable", notice_field::kTable},
           {"notice_field.kValue", notice_field::kValue},
           {"notice_field.kPeriod", notice_field::kPeriod},
           {"notice_field.kNumber", notice_field::kNumber},
           {"notice_field.kLimit", notice_field::kLimit},
           {"notice_field.kUsed", notice_field::kUsed},
           {"window_part.kNoticed", window_part::kNoticed}});
    return script;
}

const Script& probe_script() {
    static const Script script = make_script(
#include "module/redis/protocol/scripts/probe.lua"
    );
    return script;
}

const Script& transaction_script() {
    static const Script script = make_script(
#include "module/redis/protocol/scripts/transaction.lua"
    );
    return script;
}

}  // namespace tollgate::redis
