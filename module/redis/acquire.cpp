#include "module/redis/acquire.hpp"

#include <algorithm>
#include <string_view>

#include "module/redis/acquire_script.hpp"
#include "module/redis/reply.hpp"

namespace tollgate::redis {

namespace {

constexpr std::size_t kHeadLength = 3;
constexpr std::size_t kWindowLength = 3;

/// The latest time that arithmetic with it bears, in ms: the end of the year 9999.
constexpr long long kLatest = 253'402'300'799'999;

/// Whether a number may be a time or a count; both are bounded alike, so that none can overflow.
bool is_plausible(const redisReply& number) {
    return number.type == REDIS_REPLY_INTEGER && number.integer >= 0 && number.integer <= kLatest;
}

Instant instant(const redisReply& reply) {
    return Instant(std::chrono::milliseconds(reply.integer));
}

std::optional<Acquired::Outcome> outcome_of(long long status) {
    switch (status) {
        case 1:
            return Acquired::Outcome::kGranted;
        case 0:
            return Acquired::Outcome::kLimited;
        case -1:
            return Acquired::Outcome::kBanned;
        default:
            return std::nullopt;
    }
}

}  // namespace

std::vector<std::string> acquire_command(const Acquire& acquire, const Keys& keys,
                                         std::string sha1) {
    const BanPolicy ban = acquire.ban.value_or(BanPolicy{});
    std::vector<std::string> command{"EVALSHA", std::move(sha1),
                                     std::to_string(acquire.quotas.size() + 1),
                                     keys.ban(acquire.id)};
    for (const auto& quota : acquire.quotas) {
        command.push_back(keys.quota(acquire.id, quota.table));
    }
    command.push_back(std::to_string(acquire.cost));
    command.emplace_back(acquire.ban ? "1" : "0");
    command.push_back(std::to_string(acquire.strikes ? ban.after : 0));
    command.push_back(std::to_string(ban.within.count()));
    command.push_back(std::to_string(ban.first.count()));
    command.push_back(std::to_string(ban.up_to.count()));
    for (const auto& quota : acquire.quotas) {
        command.push_back(std::to_string(quota.rates.size()));
        for (const Rate& rate : quota.rates) {
            command.push_back(std::to_string(rate.requests));
            command.push_back(std::to_string(rate.period.count()));
            command.emplace_back(quota.sliding ? "1" : "0");
        }
    }
    return command;
}

void evaluate_in_full(std::vector<std::string>& command) {
    command[0] = "EVAL";
    command[1] = kAcquireScript;
}

std::optional<Acquired> read_acquired(const redisReply& reply, const Acquire& acquire) {
    std::size_t count = 0;
    for (const auto& quota : acquire.quotas) {
        count += quota.rates.size();
    }
    auto values = elements_of(reply);
    if (values.size() != kHeadLength + kWindowLength * count ||
        values[0]->type != REDIS_REPLY_INTEGER ||
        !std::ranges::all_of(values.subspan(1),
                             [](const redisReply* value) { return is_plausible(*value); })) {
        return std::nullopt;
    }
    const auto outcome = outcome_of(values[0]->integer);
    if (!outcome) {
        return std::nullopt;
    }
    Acquired acquired{*outcome, instant(*values[1]), instant(*values[2]), {}};
    acquired.windows.reserve(count);
    values = values.subspan(kHeadLength);
    for (const auto& quota : acquire.quotas) {
        for (const Rate& rate : quota.rates) {
            acquired.windows.push_back({rate, values[0]->integer, instant(*values[1]),
                                        values[2]->integer != 0,
                                        policy_name(quota.plan, rate.period)});
            values = values.subspan(kWindowLength);
        }
    }
    return acquired;
}

}  // namespace tollgate::redis
