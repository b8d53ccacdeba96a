#include "module/cli/usage/key_usage.hpp"

#include <algorithm>
#include <set>

#include "module/cli/keys/operation_failure.hpp"
#include "module/cli/redis/redis_reply.hpp"
#include "module/cli/usage/stored_usage.hpp"
#include "module/management/key_reader.hpp"
#include "module/text/parse_error.hpp"

namespace tollgate::cli {

namespace {

/// The limits of an id in one table.
struct TableState {
    std::string table;
    std::vector<Rate> rates;  ///< the known rates of the key
    bool sliding = false;     ///< of `rates`; stored windows have their own value
    bool known = false;       ///< whether `rates` is complete
};

/// Finds the tables that have counts for an id, with SCAN. Clears `complete` if keys are left after
/// the last page.
std::set<std::string> search_tables(RedisSession& session, const std::string& prefix,
                                    bool& complete) {
    constexpr int kPages = 100;
    std::set<std::string> found;
    RedisSession::ScanPosition position;
    for (int page = 0; page < kPages; ++page) {
        for (const auto& key : session.scan(position, escape_glob(prefix) + "*", 1000)) {
            found.insert(key.substr(prefix.size()));
        }
        if (position.is_at_start()) {
            return found;
        }
    }
    complete = false;
    return found;
}

/// The limits in the record of the key. They apply in tables where its plan is `custom`.
std::vector<Rate> own_limits(const management::KeysOfId& keys) {
    if (keys.keys.empty() || keys.keys.front().record.limits.empty()) {
        return {};
    }
    try {
        return parse_rates(keys.keys.front().record.limits);
    } catch (const ParseError&) {
        return {};  // not written by this command: gateways refuse such a key
    }
}

TableState state_in(const PlanTable& table, const management::KeysOfId& keys) {
    TableState state{.table = table.name, .rates = {}, .known = true};
    const Plan* plan = keys.keys.empty() ? nullptr : table.find(keys.keys.front().record.plan);
    if (plan != nullptr) {
        state.rates = plan->kind == Plan::Kind::kCustom ? own_limits(keys) : plan->rates;
        state.sliding = plan->sliding;
    }
    return state;
}

WindowUsage usage_now(const TableState& state, Period period, const StoredWindow& window,
                      Instant now) {
    const auto running = roll(window.counted, period, now);
    WindowUsage usage{
        .table = state.table,
        .period = period,
        .count = running.count,
        .previous = std::nullopt,
        .used = spent(running, period, window.sliding, now),
        .limit = std::nullopt,
        .reset = std::chrono::ceil<std::chrono::seconds>(window_end(running.number, period))};
    if (window.sliding) {
        usage.previous = running.previous;
    }
    const auto rate = std::ranges::find(state.rates, period, &Rate::period);
    if (rate != state.rates.end()) {
        usage.limit = rate->requests;
    }
    return usage;
}

}  // namespace

KeyUsage read_usage(RedisSession& session, management::Database& database, const redis::Keys& keys,
                    const std::string& id, const std::vector<PlanTable>& tables) {
    KeyUsage usage{.keys = complete(management::KeyReader(database, keys).find(id)),
                   .now = {},
                   .windows = {},
                   .ban = complete(management::read_ban(database, keys, id))};
    std::vector<TableState> states;
    states.reserve(tables.size());
    for (const auto& table : tables) {
        states.push_back(state_in(table, usage.keys));
    }
    if (tables.empty()) {
        for (const auto& table : search_tables(session, keys.quota(id, ""), usage.complete)) {
            states.push_back({.table = table, .rates = own_limits(usage.keys)});
        }
    }
    std::vector<redis::Command> commands{{"TIME"}};
    for (const auto& state : states) {
        commands.push_back({"HGETALL", keys.quota(id, state.table)});
    }
    const auto replies = session.run_all(commands);
    const auto now = time_of_reply(replies.front());
    usage.now = std::chrono::floor<std::chrono::seconds>(now);
    for (std::size_t i = 0; i < states.size(); ++i) {
        const auto& state = states[i];
        auto windows = read_windows(replies[i + 1]);
        for (const auto& rate : state.rates) {
            if (state.known) {
                windows.try_emplace(rate.period,
                                    StoredWindow{.counted = {}, .sliding = state.sliding});
            }
        }
        for (const auto& [period, window] : windows) {
            usage.windows.push_back(usage_now(state, period, window, now));
        }
    }
    return usage;
}

}  // namespace tollgate::cli
