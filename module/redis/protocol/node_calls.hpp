#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "module/plan/plan.hpp"
#include "module/plan/window_charge.hpp"
#include "module/redis/protocol/reply.hpp"
#include "module/redis/protocol/schema.hpp"
#include "module/redis/protocol/script.hpp"

// The calls that a node makes without a request.
namespace tollgate::redis {

/// Enters a node among those that decide alone in an outage, and counts them.
const Script& heartbeat_script();
/// The node counts for `lifetime`.
Call heartbeat_call(const Keys& keys, std::string_view node, std::chrono::milliseconds lifetime);
/// The number of nodes; nothing if the values are not those of the script.
std::optional<std::int64_t> read_heartbeat(ReplyValues values);

/// Notes when keys were last used: see Keys::used.
const Script& use_script();
/// A call that notes nothing yet. The ids of all uses must be in one slot.
Call use_call();
/// Adds the use of an id, so long ago: of the key with this digest in hexadecimal, or kSubjectUse.
void add_use(Call& call, const Keys& keys, std::string_view id, std::string_view digest,
             std::chrono::milliseconds age);

/// Shares the budgets of addresses for failed authentications: see Keys::address.
const Script& budget_script();
/// A call that shares no budget yet. The addresses of all budgets must be in one slot.
Call budget_call();
/// What a node has charged to a budget.
struct BudgetCharge {
    std::string_view address;  ///< see address_text
    const PlanTable& table;
    std::span<const WindowCharge> windows;  ///< of the table's `anonymous`
};
void add_budget(Call& call, const Keys& keys, const BudgetCharge& charge);
/// The units of all nodes in each of these windows of the budgets, -1 for an unknown number.
/// Nothing if the values are not those of the script.
std::optional<std::vector<std::int64_t>> read_budgets(ReplyValues values, std::size_t windows);

/// Publishes the plan tables for the command.
const Script& publish_script();
Call publish_call(const Keys& keys, std::span<const PlanTable* const> tables,
                  std::chrono::sys_seconds now);
/// The error of a command that a history needs and that Redis refuses. Nothing if there is none.
std::optional<std::string_view> read_refused_history(ReplyValues values);

}  // namespace tollgate::redis
