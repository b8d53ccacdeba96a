#include "module/management/durable_operation.hpp"

#include <utility>

#include "module/management/database.hpp"

namespace tollgate::management {

Task<Durability> execute_durably(Database& database, KeyOperation& operation,
                                 std::function<Task<void>()> part) {
    const std::function<Task<void>(bool)> execute = [&](bool again) -> Task<void> {
        if (again) {
            operation.begin_again();
        }
        co_await part();
    };
    const auto durability = co_await execute_durably(database, execute);
    co_return durability;
}

Task<KeysOfId> make_durably(Database& database, KeyOperation& operation, MakeKey make,
                            std::function<std::string()> new_digest) {
    KeysOfId keys;
    const std::function<Task<void>()> make_one = [&]() -> Task<void> {
        auto digest = new_digest();
        keys = co_await make(std::move(digest));
    };
    co_await execute_durably(database, operation, make_one);
    co_return keys;
}

Task<Durability> confirm_durably(Database& database, KeyOperation& operation, std::string digest,
                                 std::string id, MakeKey make) {
    const std::function<Task<void>(bool)> confirm = [&](bool again) -> Task<void> {
        const bool is_there = co_await operation.confirm_if_there(digest, id, again);
        if (!is_there) {
            operation.begin_again();
            co_await make(digest);
            co_await operation.confirm(digest, id);
        }
    };
    const auto durability = co_await execute_durably(database, confirm);
    co_return durability;
}

}  // namespace tollgate::management
