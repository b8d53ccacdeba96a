#include "module/management/key_activity.hpp"

#include <string>
#include <utility>

#include "module/management/ban.hpp"
#include "module/management/group_index.hpp"
#include "module/management/key_json.hpp"
#include "module/management/stored_windows.hpp"
#include "module/plan/window.hpp"
#include "module/redis/protocol/schema.hpp"

namespace tollgate::management {

namespace {

/// The period of a UTC day.
constexpr Period kDay{std::chrono::days(1)};

/// What a table has counted at `now`, from the reply to HMGET of the number and the count of the
/// day.
std::int64_t units_today(const redis::Value& reply, Instant now) {
    const auto texts = reply.texts();
    if (texts.size() != 2 || redis::number_or_zero(texts[0]) != window_number(now, kDay)) {
        return 0;
    }
    return redis::number_or_zero(texts[1]);
}

}  // namespace

Task<std::vector<KeyActivity>> read_activities(Database& database, const redis::Keys& keys,
                                               const std::vector<KeysOfId>& ids,
                                               std::vector<const PlanTable*> tables) {
    std::erase_if(tables, [](const PlanTable* table) {
        return table->by_group || (table->counts_values() && !table->has_history());
    });
    const std::string number = field_of_day(redis::window_part::kNumber);
    const std::string count = field_of_day(redis::window_part::kCount);
    std::vector<redis::Command> commands;
    commands.reserve(ids.size() * (tables.size() + 1) + 1);
    commands.push_back({"TIME"});
    for (const auto& one : ids) {
        OwnerName owner{.id = one.id};
        if (!one.keys.empty()) {
            owner.group = one.keys.front().record.group;
        }
        commands.push_back({"HGETALL", keys.ban(owner.owner())});
        for (const auto* table : tables) {
            commands.push_back({"HMGET", keys.quota(owner.owner(), table->name), number, count});
        }
        co_await Pause(database);
    }
    const auto replies = co_await run_all(database, std::move(commands));
    const auto now = time_of_reply(replies.front());
    const auto day = std::chrono::floor<std::chrono::days>(now);
    auto reply = replies.begin() + 1;
    std::vector<KeyActivity> activities;
    activities.reserve(ids.size());
    for (const auto& one : ids) {
        const auto ban = ban_of(one.id, *reply++, now);
        KeyActivity activity{.banned_until = ban.until, .strikes = ban.strikes};
        for (const auto* table : tables) {
            if (const auto units = units_today(*reply++, now); units > 0) {
                activity.today.push_back({.day = day, .table = table->name, .units = units});
            }
        }
        activities.push_back(std::move(activity));
        co_await Pause(database);
    }
    co_return activities;
}

void write_activity(JsonWriter& json, const KeyActivity& activity) {
    json.object("activity", [&] {
        write_time_or_null(json, "banned_until", activity.banned_until);
        json.member("strikes", activity.strikes);
        json.array("today", [&] {
            for (const auto& day : activity.today) {
                json.object([&] {
                    json.member("table", day.table);
                    json.member("units", day.units);
                });
            }
        });
    });
}

}  // namespace tollgate::management
