#include "module/cli/key_usage.hpp"

#include <set>

#include "module/cli/key_lookup.hpp"
#include "module/cli/quota_hash.hpp"
#include "module/core/parse_error.hpp"

namespace tollgate::cli {

namespace {

/// The Redis keys that begin so. SCAN may name one twice.
std::set<std::string> keys_that_begin_with(RedisSession& session, const std::string& prefix) {
    std::set<std::string> found;
    std::string cursor = "0";
    do {
        const auto page =
            session.run({"SCAN", cursor, "MATCH", glob_literal(prefix) + "*", "COUNT", "1000"});
        for (const auto& key : page.elements.at(1).elements) {
            found.insert(key.text);
        }
        cursor = page.elements.at(0).text;
    } while (cursor != "0");
    return found;
}

/// The limits in the key's own record, which hold where a table has its plan as `custom`.
std::vector<Rate> own_limits(const KeysOfId& keys) {
    if (keys.keys.empty() || keys.keys.front().record.limits.empty()) {
        return {};
    }
    try {
        return parse_rates(keys.keys.front().record.limits);
    } catch (const ParseError&) {
        return {};  // as another program wrote it: the gateway refuses such a key
    }
}

WindowUsage usage_now(std::string_view table, std::chrono::seconds period,
                      const StoredWindow& window, const std::vector<Rate>& limits, Instant now) {
    const auto running = roll(window.counted, period, now);
    WindowUsage usage{
        .table = std::string(table),
        .period = period,
        .count = running.count,
        .previous = std::nullopt,
        .used = spent(running, period, window.sliding, now),
        .limit = std::nullopt,
        .reset = std::chrono::ceil<std::chrono::seconds>(window_end(running.number, period))};
    if (window.sliding) {
        usage.previous = running.previous;
    }
    for (const auto& rate : limits) {
        if (rate.period == period) {
            usage.limit = rate.requests;
        }
    }
    return usage;
}

}  // namespace

KeyUsage read_usage(RedisSession& session, const redis::Keys& keys, std::string_view id) {
    KeyUsage usage{.keys = KeyLookup(session, keys).find(id),
                   .now = {},
                   .windows = {},
                   .ban = read_ban(session, keys, id)};
    const auto limits = own_limits(usage.keys);
    const auto prefix = keys.quota(id, "");
    const auto names = keys_that_begin_with(session, prefix);
    const auto now = instant_of(session.run({"TIME"}));
    usage.now = std::chrono::floor<std::chrono::seconds>(now);
    for (const auto& name : names) {
        for (const auto& [period, window] : windows_of(session.run({"HGETALL", name}))) {
            usage.windows.push_back(usage_now(std::string_view(name).substr(prefix.size()),
                                              std::chrono::seconds(period), window, limits, now));
        }
    }
    return usage;
}

}  // namespace tollgate::cli
