#include "module/management/group_usage.hpp"

#include <utility>

#include "module/plan/value_digest.hpp"

namespace tollgate::management {

namespace {

/// Leaves the tables with `by=group`.
void keep_those_of_groups(std::vector<const PlanTable*>& tables) {
    std::erase_if(tables, [](const PlanTable* table) { return !table->by_group; });
}

}  // namespace

Task<GroupUsage> read_group_usage(Database& database, const redis::Keys& keys, std::string group,
                                  std::vector<const PlanTable*> tables) {
    keep_those_of_groups(tables);
    CountingTables counting{.known = tables};
    co_await require_known_group(database, keys, group, std::move(counting));
    auto usage = co_await read_counts_of_group(database, keys, std::move(group), std::move(tables));
    co_return usage;
}

Task<GroupUsage> read_counts_of_group(Database& database, const redis::Keys& keys,
                                      std::string group, std::vector<const PlanTable*> tables) {
    keep_those_of_groups(tables);
    std::vector<std::string> groups(1, group);
    auto records = co_await records_of_groups(database, keys, std::move(groups));
    GroupUsage usage{.group = {.id = group, .plan = {}, .limits = {}}, .now = {}};
    if (records.front()) {
        usage.group = *records.front();
    }
    const auto value = ValueDigest::of_group();
    std::vector<redis::Command> commands;
    commands.push_back({"TIME"});
    for (const auto* table : tables) {
        commands.push_back({"HGETALL", keys.quota(group, table->name, value.suffix())});
    }
    const auto replies = co_await run_all(database, std::move(commands));
    const auto now = time_of_reply(replies.front());
    usage.now = std::chrono::floor<std::chrono::seconds>(now);
    const KeyRecord record = record_of(usage.group);
    for (std::size_t i = 0; i < tables.size(); ++i) {
        add_windows(usage.windows, limits_in(*tables[i], record), replies[i + 1], now);
    }
    co_return usage;
}

void write_group_usage(JsonWriter& json, const GroupUsage& usage) {
    write_group(json, usage.group);
    write_windows(json, usage.windows);
}

}  // namespace tollgate::management
