#include "module/management/ban.hpp"

#include <utility>

#include "module/management/key_json.hpp"
#include "module/management/key_transactions.hpp"

namespace tollgate::management {

namespace {

/// Rounds a Unix time in milliseconds up to seconds. Empty if it is not positive.
std::optional<std::chrono::sys_seconds> second_of(std::int64_t milliseconds) {
    if (milliseconds <= 0) {
        return std::nullopt;
    }
    return std::chrono::sys_seconds(
        std::chrono::ceil<std::chrono::seconds>(std::chrono::milliseconds(milliseconds)));
}

}  // namespace

Task<KeyBan> read_ban(Database& database, const redis::Keys& keys, std::string id) {
    Transaction transaction;
    transaction.commands.push_back({"HGETALL", keys.ban(id)});
    transaction.commands.push_back({"TIME"});
    const auto replies = co_await execute(database, std::move(transaction));
    const redis::Value& hash = replies.value().front();
    auto fields = hash.fields();
    KeyBan ban{.id = std::move(id),
               .strikes = redis::number_or_zero(fields[redis::ban_field::kStrikes]),
               .level = redis::number_or_zero(fields[redis::ban_field::kLevel]),
               .since = second_of(redis::number_or_zero(fields[redis::ban_field::kSince])),
               .until = second_of(redis::number_or_zero(fields[redis::ban_field::kUntil]))};
    if (ban.until && *ban.until <= time_of_reply(replies->back())) {
        ban.until.reset();
    }
    co_return ban;
}

void write_ban(JsonWriter& json, const KeyBan& ban) {
    json.member("id", ban.id);
    json.member("banned", ban.until.has_value());
    write_time_or_null(json, "until", ban.until);
    json.member("level", ban.level);
    json.member("strikes", ban.strikes);
    write_time_or_null(json, "since", ban.since);
}

Task<void> lift_ban(Database& database, const redis::Keys& keys, AuditEntry entry) {
    Transaction transaction;
    transaction.commands.push_back({"DEL", keys.ban(entry.id)});
    transaction.names = {entry.id};
    KeyTransactions transactions(database, keys, std::move(entry));
    co_await transactions.commit(std::move(transaction), KeyTransactions::Audited::kYes);
}

}  // namespace tollgate::management
