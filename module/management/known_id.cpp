#include "module/management/known_id.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "module/management/key_reader.hpp"

namespace tollgate::management {

Task<void> require_known_id(Database& database, const redis::Keys& keys, std::string id,
                            CountingTables tables) {
    std::vector<redis::Command> commands{{"EXISTS", keys.ban(id)}, {"EXISTS", keys.history(id)}};
    for (const auto* table : tables.known) {
        commands.push_back({"EXISTS", keys.quota(id, table->name)});
    }
    for (const auto& table : tables.found) {
        commands.push_back({"EXISTS", keys.quota(id, table)});
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
