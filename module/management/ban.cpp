#include "module/management/ban.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "module/management/group_index.hpp"
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

/// A ban from the fields of its hash. One that has ended at `now` has no end.
KeyBan ban_of(std::string id, const redis::Value& hash, Instant now) {
    auto fields = hash.fields();
    KeyBan ban{.id = std::move(id),
               .strikes = redis::number_or_zero(fields[redis::ban_field::kStrikes]),
               .level = redis::number_or_zero(fields[redis::ban_field::kLevel]),
               .since = second_of(redis::number_or_zero(fields[redis::ban_field::kSince])),
               .until = second_of(redis::number_or_zero(fields[redis::ban_field::kUntil]))};
    if (ban.until && *ban.until <= now) {
        ban.until.reset();
    }
    return ban;
}

}  // namespace

Task<KeyBan> read_ban(Database& database, const redis::Keys& keys, std::string id) {
    const auto owner = co_await owner_of(database, keys, id);
    Transaction transaction;
    transaction.commands.push_back({"HGETALL", keys.ban(owner.owner())});
    transaction.commands.push_back({"TIME"});
    const auto replies = co_await execute(database, std::move(transaction));
    co_return ban_of(std::move(id), replies.value().front(), time_of_reply(replies->back()));
}

Task<BanPage> read_bans(Database& database, const redis::Keys& keys, std::optional<Place> after,
                        std::size_t limit) {
    constexpr std::size_t kIdsPerRead = 250;
    IdList ids(database, keys.ids());
    redis::Command clock{"TIME"};
    const auto time = co_await run(database, std::move(clock));
    const auto now = time_of_reply(time);
    PageBounds bounds{.limit = limit};
    BanPage page;
    bool has_more = true;
    while (has_more && !bounds.is_end(page.bans.size())) {
        const auto places = co_await ids.page(after, kIdsPerRead, has_more);
        std::vector<std::string> read;
        std::ranges::transform(places, std::back_inserter(read), &Place::id);
        const auto owners = co_await owners_of(database, keys, std::move(read));
        std::vector<redis::Command> commands;
        commands.reserve(owners.size());
        for (const auto& owner : owners) {
            commands.push_back({"HGETALL", keys.ban(owner.owner())});
        }
        const auto hashes = co_await run_all(database, std::move(commands));
        for (std::size_t i = 0; i < places.size() && page.bans.size() < limit; ++i) {
            auto ban = ban_of(places[i].id, hashes[i], now);
            if (ban.until) {
                page.bans.push_back(std::move(ban));
            }
            after = places[i];
            has_more = has_more || (page.bans.size() == limit && i + 1 < places.size());
        }
        bounds.examined += places.size();
    }
    if (has_more) {
        page.next = after;
    }
    co_return page;
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
    const auto owner = co_await owner_of(database, keys, entry.id);
    Transaction transaction;
    transaction.commands.push_back({"DEL", keys.ban(owner.owner())});
    transaction.names = {entry.id};
    KeyTransactions transactions(database, keys, std::move(entry));
    co_await transactions.commit(std::move(transaction), KeyTransactions::Audited::kYes);
}

}  // namespace tollgate::management
