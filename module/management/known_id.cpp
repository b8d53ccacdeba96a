#include "module/management/known_id.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "module/management/group_index.hpp"
#include "module/management/key_reader.hpp"

namespace tollgate::management {

Task<void> require_known_id(Database& database, const redis::Keys& keys, std::string id,
                            CountingTables tables) {
    const auto name = co_await owner_of(database, keys, id);
    const redis::Owner owner = name.owner();
    std::vector<redis::Command> commands;
    commands.push_back({"EXISTS", keys.ban(owner)});
    commands.push_back({"EXISTS", keys.history(owner)});
    for (const auto* table : tables.known) {
        commands.push_back({"EXISTS", keys.quota(owner, table->name)});
    }
    for (const auto& table : tables.found) {
        commands.push_back({"EXISTS", keys.quota(owner, table)});
    }
    const auto replies = co_await run_all(database, std::move(commands));
    const bool is_counted = std::ranges::any_of(
        replies, [](const redis::Value& exists) { return exists.integer == 1; });
    if (!is_counted) {
        KeyReader reader(database, keys);
        co_await reader.require_id(std::move(id));
    }
}

}  // namespace tollgate::management
