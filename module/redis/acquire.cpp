#include "module/redis/acquire.hpp"

#include <algorithm>
#include <utility>

#include "module/redis/reply.hpp"

namespace tollgate::redis {

namespace {

/// The latest time that arithmetic with it bears, in ms: the end of the year 9999.
constexpr long long kLatest = 253'402'300'799'999;

/// Whether a number may be a time or a count; both are bounded alike, so that none can overflow.
bool is_plausible(const redisReply& number) {
    return number.type == REDIS_REPLY_INTEGER && number.integer >= 0 && number.integer <= kLatest;
}

bool is_alike(const BanPolicy& a, const BanPolicy& b) {
    return a.after == b.after && a.within == b.within && a.first == b.first && a.up_to == b.up_to;
}

bool is_counted_alike(const TableQuota& a, const TableQuota& b) {
    return a.sliding == b.sliding && a.rates == b.rates;
}

/// Whether all that stays the same from call to call is the same for both, so that the script needs
/// to be told it but once.
bool share_terms(const Acquire& a, const Acquire& b) {
    const bool ban_alike = a.ban && b.ban
                               ? a.refusals_strike == b.refusals_strike && is_alike(*a.ban, *b.ban)
                               : a.ban.has_value() == b.ban.has_value();
    return a.cost == b.cost && ban_alike &&
           (a.quotas == b.quotas || std::ranges::equal(*a.quotas, *b.quotas, is_counted_alike));
}

/// Writes the arguments of a call; see the script.
class Arguments {
  public:
    explicit Arguments(std::vector<std::string>& words) : words_(words) {}

    void add(std::int64_t number) { words_.push_back(std::to_string(number)); }

    /// Where the script finds the next one: Lua counts from 1, and the token goes ahead.
    std::int64_t next() const { return static_cast<std::int64_t>(words_.size()) + 2; }

    void add_terms(const Acquire& acquire) {
        add(acquire.cost);
        add_ban(acquire);
        add(static_cast<std::int64_t>(acquire.quotas->size()));
        for (const auto& quota : *acquire.quotas) {
            add_table(quota);
        }
    }

    void add_id(const Acquire& acquire, std::int64_t terms) {
        const auto needs = [](const Adjustment& adjustment) { return adjustment.units != 0; };
        const bool adjusts = std::ranges::any_of(acquire.adjustments, needs);
        const bool has_more = adjusts || acquire.lease > 0 || acquire.strikes > 0;
        add(terms);
        add(acquire.count);
        if (!has_more) {
            add(0);
            return;
        }
        add(adjusts ? 2 + 2 * static_cast<std::int64_t>(acquire.adjustments.size()) : 2);
        add(acquire.lease);
        add(acquire.strikes);
        if (adjusts) {
            for (const auto& adjustment : acquire.adjustments) {
                add(adjustment.number);
                add(adjustment.units);
            }
        }
    }

  private:
    void add_ban(const Acquire& acquire) {
        if (!acquire.ban) {
            add(0);
            return;
        }
        add(acquire.ban->after);
        add(acquire.ban->within.count());
        add(acquire.ban->first.count());
        add(acquire.ban->up_to.count());
        add(acquire.refusals_strike ? 1 : 0);
    }

    void add_table(const TableQuota& quota) {
        const auto windows = static_cast<std::int64_t>(quota.rates.size());
        add(quota.sliding ? -windows : windows);
        for (const Rate& rate : quota.rates) {
            add(rate.requests);
            add(std::chrono::milliseconds(rate.period).count());
        }
        for (const Rate& rate : quota.rates) {
            const auto period = std::to_string(rate.period.count());
            words_.push_back(period + ".number");
            words_.push_back(period + ".count");
            if (quota.sliding) {
                words_.push_back(period + ".previous");
            }
        }
    }

    std::vector<std::string>& words_;
};

/// Takes numbers off the reply, one after the other. Where one is missing or isn't plausible, it
/// and all that follow are 0, and `good` is false.
class Numbers {
  public:
    explicit Numbers(std::span<const redisReply* const> values) : values_(values) {}

    std::int64_t next() {
        good_ = good_ && !values_.empty() && is_plausible(*values_.front());
        if (!good_) {
            return 0;
        }
        const auto number = values_.front()->integer;
        values_ = values_.subspan(1);
        return number;
    }
    Instant next_instant() { return Instant(std::chrono::milliseconds(next())); }

    /// The error that stands in place of an id's numbers; nothing where they are there.
    std::optional<std::string_view> next_error() {
        if (!good_ || values_.empty() || values_.front()->type != REDIS_REPLY_ERROR) {
            return std::nullopt;
        }
        return text_of(*std::exchange(values_, values_.subspan(1)).front());
    }

    bool good() const { return good_; }
    bool at_end() const { return values_.empty(); }

  private:
    std::span<const redisReply* const> values_;
    bool good_ = true;
};

Acquired read_one(Numbers& numbers, const Acquire& acquire, Instant now) {
    Acquired acquired{.now = now, .granted = numbers.next()};
    if (acquire.lease > 0) {
        acquired.lease = numbers.next();
    }
    acquired.limited = acquire.count - acquired.granted;
    if (acquire.ban) {
        acquired.limited = numbers.next();
        acquired.banned_until = numbers.next_instant();
        acquired.strikes = numbers.next();
    }
    for (const auto& quota : *acquire.quotas) {
        for (std::size_t i = 0; i < quota.rates.size(); ++i) {
            auto& window = acquired.windows.emplace_back();
            window.number = numbers.next();
            window.count = numbers.next();
            window.previous = quota.sliding ? numbers.next() : 0;
        }
    }
    return acquired;
}

/// Whether it answers what was asked: no more granted or refused than there were requests, no more
/// leased than was wanted.
bool answers(const Acquired& acquired, const Acquire& acquire) {
    return acquired.granted <= acquire.count &&
           acquired.limited <= acquire.count - acquired.granted &&
           acquired.lease <= std::max<std::int64_t>(acquire.lease, 0);
}

}  // namespace

ScriptCall acquire_call(std::span<const Acquire> acquires, const Keys& keys) {
    constexpr std::size_t kOfTerms = 16;
    constexpr std::size_t kOfAnId = 3;
    ScriptCall call;
    call.keys.reserve(2 * acquires.size());
    call.arguments.reserve(kOfTerms + kOfAnId * acquires.size());
    Arguments arguments(call.arguments);
    arguments.add(0);  // where the ids begin, once that is known
    std::vector<std::pair<const Acquire*, std::int64_t>> terms;
    std::vector<std::int64_t> terms_of;
    terms_of.reserve(acquires.size());
    for (const Acquire& acquire : acquires) {
        auto same = std::ranges::find_if(
            terms, [&](const auto& known) { return share_terms(*known.first, acquire); });
        if (same == terms.end()) {
            same = terms.insert(same, {&acquire, arguments.next()});
            arguments.add_terms(acquire);
        }
        terms_of.push_back(same->second);
        if (acquire.ban) {
            call.keys.push_back(keys.ban(acquire.id));
        }
        for (const auto& quota : *acquire.quotas) {
            call.keys.push_back(keys.quota(acquire.id, quota.table));
        }
    }
    call.arguments.front() = std::to_string(arguments.next());
    for (std::size_t i = 0; i < acquires.size(); ++i) {
        arguments.add_id(acquires[i], terms_of[i]);
    }
    return call;
}

std::optional<std::vector<AcquireResult>> read_acquired(std::span<const redisReply* const> values,
                                                        std::span<const Acquire> acquires) {
    Numbers numbers(values);
    const Instant now = numbers.next_instant();
    std::vector<AcquireResult> results;
    results.reserve(acquires.size());
    for (const Acquire& acquire : acquires) {
        if (const auto error = numbers.next_error()) {
            results.emplace_back(*error);
            continue;
        }
        auto acquired = read_one(numbers, acquire, now);
        if (!numbers.good() || !answers(acquired, acquire)) {
            return std::nullopt;
        }
        results.emplace_back(std::move(acquired));
    }
    return numbers.at_end() ? std::optional(std::move(results)) : std::nullopt;
}

}  // namespace tollgate::redis
