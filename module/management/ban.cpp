#include "module/management/ban.hpp"

#include <utility>

#include "module/management/group_index.hpp"
#include "module/management/id_list.hpp"
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

/// Few ids are banned: unless in a cluster, most hashes are not asked for one by one. Returns
/// whether each may exist.
Task<std::vector<bool>> may_exist(Database& database, std::vector<std::string> names) {
    constexpr std::size_t kAtOnce = 8;
    std::vector<bool> may(names.size(), true);
    if (names.size() < 2 || !database.may_span(names[0], names[1])) {
        co_return may;
    }
    std::vector<redis::Command> commands;
    commands.reserve(names.size() / kAtOnce + 1);
    for (std::size_t i = 0; i < names.size(); ++i) {
        if (i % kAtOnce == 0) {
            commands.push_back({"EXISTS"});
        }
        commands.back().push_back(names[i]);
    }
    const auto counts = co_await run_all(database, std::move(commands));
    for (std::size_t i = 0; i < names.size(); ++i) {
        may[i] = counts[i / kAtOnce].integer > 0;
    }
    co_return may;
}

/// The hashes with these names, in their order; nil, or empty, for those that do not exist.
Task<std::vector<redis::Value>> read_hashes(Database& database, std::vector<std::string> names) {
    const auto may = co_await may_exist(database, names);
    std::vector<redis::Command> commands;
    commands.reserve(names.size());
    for (std::size_t i = 0; i < names.size(); ++i) {
        if (may[i]) {
            commands.push_back({"HGETALL", std::move(names[i])});
        }
    }
    auto read = co_await run_all(database, std::move(commands));
    std::vector<redis::Value> hashes(names.size());
    auto next = read.begin();
    for (std::size_t i = 0; i < names.size(); ++i) {
        if (may[i]) {
            hashes[i] = std::move(*next++);
        }
    }
    co_return hashes;
}

}  // namespace

KeyBan ban_of(std::string id, const redis::Value& hash, Instant now) {
    const auto fields = hash.fields();
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

Task<KeyBan> read_ban(Database& database, const redis::Keys& keys, std::string id) {
    const auto owner = co_await owner_of(database, keys, id);
    Transaction transaction;
    transaction.commands.push_back({"HGETALL", keys.ban(owner.owner())});
    transaction.commands.push_back({"TIME"});
    const auto replies = co_await execute(database, std::move(transaction));
    co_return ban_of(std::move(id), replies.value().front(), time_of_reply(replies->back()));
}

Task<BanPage> read_bans(Database& database, const redis::Keys& keys,
                        std::optional<std::string> after, std::size_t limit,
                        CountedIds::Subjects subjects, Struck struck) {
    constexpr std::size_t kIdsPerRead = 100;
    CountedIds counted(database, keys, CountedIds::Revoked::kOmitted, subjects);
    auto progress = after ? CountedIds::Progress::of_cursor(*after) : CountedIds::Progress{};
    redis::Command clock{"TIME"};
    const auto time = co_await run(database, std::move(clock));
    const auto now = time_of_reply(time);
    PageBounds bounds(database, limit);
    BanPage page;
    bool has_more = true;
    while (has_more && !bounds.is_end_or_late(page.bans.size())) {
        auto next = co_await counted.after(std::move(progress), kIdsPerRead);
        const auto owners = co_await owners_of(database, keys, next.ids);
        std::vector<std::string> names;
        names.reserve(owners.size());
        for (const auto& owner : owners) {
            names.push_back(keys.ban(owner.owner()));
        }
        const auto hashes = co_await read_hashes(database, std::move(names));
        bounds.note_examined(next.examined);
        progress = std::move(next.end);
        has_more = next.has_more;
        for (std::size_t i = 0; i < hashes.size(); ++i) {
            auto ban = ban_of(std::move(next.ids[i]), hashes[i], now);
            if (!ban.until && (struck == Struck::kOmitted || ban.strikes == 0)) {
                continue;
            }
            page.bans.push_back(std::move(ban));
            if (page.bans.size() == limit && i + 1 < hashes.size()) {
                progress = std::move(next.after[i]);
                has_more = true;
                break;
            }
        }
    }
    if (has_more) {
        page.next = progress.cursor();
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
