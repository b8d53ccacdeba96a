#include "module/redis/protocol/node_calls.hpp"

#include <algorithm>
#include <iterator>
#include <string>

#include "module/plan/published_plans.hpp"
#include "module/plan/window.hpp"
#include "module/redis/protocol/lua_text.hpp"
#include "module/redis/protocol/node_script.hpp"

namespace tollgate::redis {

const Script& heartbeat_script() {
    static const Script script = make_node_script(
#include "module/redis/protocol/scripts/heartbeat.lua"
    );
    return script;
}

Call heartbeat_call(const Keys& keys, std::string_view node, std::chrono::milliseconds lifetime) {
    Call call{&heartbeat_script(), {keys.nodes()}, {node}};
    call.arguments.add(lifetime.count());
    return call;
}

std::optional<std::int64_t> read_heartbeat(ReplyValues values) {
    const bool is_count = values.size() == 1 && values.front()->type == REDIS_REPLY_INTEGER;
    return is_count ? std::optional<std::int64_t>(values.front()->integer) : std::nullopt;
}

const Script& use_script() {
    static const Script script = make_node_script(
#include "module/redis/protocol/scripts/use.lua"
        , {{"kSubjectUse", kSubjectUse}});
    return script;
}

Call use_call() {
    Call call{&use_script()};
    call.arguments.add(kUseLifetime.count());
    call.arguments.add(kSubjectUseLifetime.count());
    return call;
}

void add_use(Call& call, const Keys& keys, std::string_view id, std::string_view digest,
             std::chrono::milliseconds age) {
    call.keys.add_joined(keys.used_parts(id));
    call.keys.add_joined(keys.id_parts(id));
    call.arguments.add(digest);
    call.arguments.add(age.count());
}

const Script& budget_script() {
    static const Script script = make_node_script(
#include "module/redis/protocol/scripts/budget.lua"
    );
    return script;
}

Call budget_call() {
    return {&budget_script()};
}

void add_budget(Call& call, const Keys& keys, const BudgetCharge& charge) {
    call.keys.add(keys.address(charge.address, charge.table.name));
    const auto& rates = charge.table.anonymous;
    Instant ends{};
    for (std::size_t i = 0; i < rates.size(); ++i) {
        ends = std::max(ends, window_end(charge.windows[i].number, rates[i].period));
    }
    call.arguments.add(ends.time_since_epoch().count());
    call.arguments.add(rates.size());
    for (std::size_t i = 0; i < rates.size(); ++i) {
        const std::string period = stored_period(rates[i].period);
        call.arguments.add_joined(window_field(period, window_part::kNumber));
        call.arguments.add_joined(window_field(period, window_part::kCount));
        call.arguments.add(charge.windows[i].number);
        call.arguments.add(std::max<std::int64_t>(kMostAhead / rates[i].period.length(), 1));
        call.arguments.add(charge.windows[i].units);
    }
}

std::optional<std::vector<std::int64_t>> read_budgets(ReplyValues values, std::size_t windows) {
    if (values.size() != windows || std::ranges::any_of(values, [](const redisReply* value) {
            return value->type != REDIS_REPLY_INTEGER;
        })) {
        return std::nullopt;
    }
    std::vector<std::int64_t> totals;
    totals.reserve(windows);
    std::ranges::transform(values, std::back_inserter(totals),
                           [](const redisReply* value) { return value->integer; });
    return totals;
}

const Script& publish_script() {
    static const Script script = make_node_script(
#include "module/redis/protocol/scripts/publish.lua"
    );
    return script;
}

Call publish_call(const Keys& keys, std::span<const PlanTable* const> tables,
                  std::chrono::sys_seconds now) {
    Call call{&publish_script(), {keys.plans()}};
    call.arguments.add(std::ranges::any_of(tables, &PlanTable::has_history) ? "1" : "0");
    for (const PlanTable* table : tables) {
        call.arguments.add(table->name);
        call.arguments.add(write_published_table(*table, now));
    }
    return call;
}

std::optional<std::string_view> read_refused_history(ReplyValues values) {
    const bool is_text = values.size() == 1 && values.front()->type == REDIS_REPLY_STRING;
    return is_text ? std::optional(text_of(*values.front())) : std::nullopt;
}

}  // namespace tollgate::redis
