#include "module/redis/protocol/acquire_codec.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "module/redis/protocol/reply.hpp"

namespace tollgate::redis {

namespace {

constexpr std::int64_t kLatest = kLatestInstant.time_since_epoch().count();
constexpr std::int64_t kLatestExact = kLatest * 1000;

bool is_alike(const BanPolicy& a, const BanPolicy& b) {
    return a.after == b.after && a.within == b.within && a.first == b.first && a.up_to == b.up_to;
}

bool is_counted_alike(const TableQuota& a, const TableQuota& b) {
    return a.sliding == b.sliding && a.rates == b.rates && a.history == b.history;
}

/// Whether two acquires have the same terms, so that the script gets them only once.
bool share_terms(const Acquire& a, const Acquire& b) {
    const Demand& first = a.demand;
    const Demand& second = b.demand;
    const bool ban_alike =
        first.ban && second.ban
            ? first.refusals_strike == second.refusals_strike && is_alike(*first.ban, *second.ban)
            : first.ban.has_value() == second.ban.has_value();
    return first.cost == second.cost && ban_alike &&
           (a.quotas == b.quotas || std::ranges::equal(*a.quotas, *b.quotas, is_counted_alike));
}

void add_ban(Words& terms, const Demand& demand) {
    if (!demand.ban) {
        terms.add(0);
        return;
    }
    terms.add(demand.ban->after);
    terms.add(demand.ban->within.count());
    terms.add(demand.ban->first.count());
    terms.add(demand.ban->up_to.count());
    terms.add(demand.refusals_strike ? 1 : 0);
}

/// The length of a window in ms for the script; 0: the calendar month.
std::int64_t script_length(Period period) {
    return period.is_month() ? 0 : std::chrono::milliseconds(period.length()).count();
}

void add_table(Words& terms, const TableQuota& quota) {
    const auto windows = static_cast<std::int64_t>(quota.rates.size());
    terms.add(quota.sliding ? -windows : windows);
    terms.add(quota.history.count());
    for (const Rate& rate : quota.rates) {
        terms.add(rate.requests);
        terms.add(script_length(rate.period));
    }
    for (const Rate& rate : quota.rates) {
        const auto period = stored_period(rate.period);
        terms.add_joined(window_field(period, window_part::kNumber));
        terms.add_joined(window_field(period, window_part::kCount));
        if (quota.sliding) {
            terms.add_joined(window_field(period, window_part::kPrevious));
        }
    }
}

void add_terms(Words& terms, const Acquire& acquire) {
    terms.add(acquire.demand.cost);
    add_ban(terms, acquire.demand);
    terms.add(acquire.quotas->size());
    for (const auto& quota : *acquire.quotas) {
        add_table(terms, quota);
    }
}

bool has_adjustments(const Acquire& acquire) {
    return std::ranges::any_of(acquire.adjustments, [](const Adjustment& adjustment) {
        return adjustment.units != 0 || adjustment.previous != 0;
    });
}

void add_adjustments(Words& ids, const Acquire& acquire) {
    ids.add(std::ranges::count_if(acquire.report_numbers, [](auto number) { return number != 0; }));
    auto adjustment = acquire.adjustments.begin();
    for (std::size_t table = 0; table < acquire.quotas->size(); ++table) {
        ids.add(acquire.report_numbers[table]);
        for (std::size_t i = 0; i < (*acquire.quotas)[table].rates.size(); ++i, ++adjustment) {
            ids.add(adjustment->number);
            ids.add(adjustment->units);
            ids.add(adjustment->previous);
        }
    }
}

/// The further arguments of an id; nothing if it has none.
void add_further(Words& ids, const Acquire& acquire, bool adjusts, SteadyTime sent) {
    ids.add(adjusts ? 3 + acquire.quotas->size() + 3 * acquire.adjustments.size() : 2);
    ids.add(acquire.lease);
    if (acquire.strikes > 0) {
        ids.add(std::to_string(acquire.strikes) + ":" +
                std::to_string(std::max<std::int64_t>((sent - acquire.struck_since).count(), 0)));
    } else {
        ids.add(0);
    }
    if (adjusts) {
        add_adjustments(ids, acquire);
    }
}

/// The arguments of the ids. Ids that follow each other, are alike and have no further arguments
/// share them.
class IdArguments {
  public:
    IdArguments(std::size_t ids, SteadyTime sent) : sent_(sent) {
        constexpr std::size_t kOfAnId = 24;
        words_.reserve(kOfAnId * ids);
    }

    /// Adds an id, whose terms start at ARGV[terms].
    void add(const Acquire& acquire, std::size_t terms, bool adjusts) {
        const bool has_further = adjusts || acquire.lease > 0 || acquire.strikes > 0;
        if (alike_ && !has_further && terms == terms_ && acquire.count == count_) {
            ++*alike_;
            return;
        }
        end_alike();
        words_.add(terms);
        words_.add(acquire.count);
        if (has_further) {
            add_further(words_, acquire, adjusts, sent_);
        } else {
            alike_ = 0;
            terms_ = terms;
            count_ = acquire.count;
        }
    }
    /// All of them, after the last add().
    const Words& end() {
        end_alike();
        return words_;
    }

  private:
    void end_alike() {
        if (alike_) {
            words_.add(-*alike_);
            alike_.reset();
        }
    }

    SteadyTime sent_;
    Words words_;
    std::optional<std::int64_t> alike_;  ///< further ids that share the last arguments
    std::size_t terms_ = 0;
    std::int64_t count_ = 0;
};

void add_report_keys(Words& words, const Acquire& acquire, const Keys& keys,
                     std::string_view node) {
    for (std::size_t table = 0; table < acquire.quotas->size(); ++table) {
        if (acquire.report_numbers[table] != 0) {
            const TableQuota& quota = (*acquire.quotas)[table];
            words.add(keys.report(acquire.id, quota.table, node, layout_name(quota)));
        }
    }
}

/// The terms of all ids. Ids with the same terms share them.
class SharedTerms {
  public:
    explicit SharedTerms(KnownTerms* known) : known_(known) {}

    /// The index in ARGV of the terms of this acquire, which must outlive this object.
    std::size_t place_of(const Acquire& acquire) {
        const auto known = std::ranges::find_if(
            places_, [&](const auto& place) { return share_terms(*place.first, acquire); });
        if (known != places_.end()) {
            return known->second;
        }
        const auto place = end();
        if (known_ != nullptr) {
            words_.add(known_->of(acquire));
        } else {
            add_terms(words_, acquire);
        }
        places_.emplace_back(&acquire, place);
        return place;
    }
    const Words& words() const { return words_; }
    /// The index in ARGV of the first id.
    std::size_t end() const { return kFirst + words_.size(); }

  private:
    /// Lua counts from 1. The token, the index of the first id, the deadline and the node precede
    /// the terms.
    static constexpr std::size_t kFirst = 5;
    KnownTerms* known_;
    Words words_;
    std::vector<std::pair<const Acquire*, std::size_t>> places_;
};

/// Reads numbers from the reply. If one is missing or out of range, it and all further numbers are
/// 0, and good() is false.
class Numbers {
  public:
    explicit Numbers(ReplyValues values) {
        good_ = !values.empty() && values.front()->type == REDIS_REPLY_STRING;
        if (good_) {
            numbers_ = text_of(*values.front());
            errors_ = values.subspan(1);
        }
    }

    /// Takes the further numbers that follow the errors; nothing if there are none.
    std::optional<Numbers> take_further() {
        if (errors_.empty() || errors_.back()->type != REDIS_REPLY_STRING) {
            return std::nullopt;
        }
        const auto further = errors_.last(1);
        errors_ = errors_.first(errors_.size() - 1);
        return Numbers(further);
    }

    /// The next number, at most `most`.
    std::int64_t next(std::int64_t most = kLatest) {
        const auto number = peek();
        good_ = good_ && number;
        if (!good_) {
            return 0;
        }
        numbers_.remove_prefix(kWidth);
        const bool is_in_range = *number >= 0 && *number <= most;
        in_range_ = in_range_ && is_in_range;
        return is_in_range ? *number : 0;
    }
    /// Whether all numbers since the last call were in their ranges.
    bool take_in_range() { return std::exchange(in_range_, true); }
    Instant next_instant() { return Instant(std::chrono::milliseconds(next())); }
    ExactInstant next_exact_instant() {
        return ExactInstant(std::chrono::microseconds(next(kLatestExact)));
    }

    /// The error of an id, which replaces its numbers; nothing if the id has numbers.
    std::optional<std::string_view> next_error() {
        if (!good_ || peek() != kError) {
            return std::nullopt;
        }
        good_ = !errors_.empty() && errors_.front()->type == REDIS_REPLY_ERROR;
        if (!good_) {
            return std::nullopt;
        }
        numbers_.remove_prefix(kWidth);
        return text_of(*std::exchange(errors_, errors_.subspan(1)).front());
    }

    bool good() const { return good_; }
    bool at_end() const { return numbers_.empty() && errors_.empty(); }

  private:
    static constexpr std::size_t kWidth = 8;
    static constexpr std::int64_t kError = -1;

    /// A number in the format `<i8` of struct.pack: little-endian.
    std::optional<std::int64_t> peek() const {
        if (numbers_.size() < kWidth) {
            return std::nullopt;
        }
        std::uint64_t number = 0;
        std::memcpy(&number, numbers_.data(), kWidth);
        if constexpr (std::endian::native == std::endian::big) {
            number = __builtin_bswap64(number);
        }
        return static_cast<std::int64_t>(number);
    }

    std::string_view numbers_;
    std::span<const redisReply* const> errors_;
    bool good_ = false;
    bool in_range_ = true;
};

/// Reads the numbers of an id. What `acquired` had is replaced.
void read_one(Numbers& numbers, const Acquire& acquire, Instant now, Acquired& acquired) {
    acquired.now = now;
    acquired.granted = numbers.next();
    acquired.lease = acquire.lease > 0 ? numbers.next() : 0;
    acquired.limited = acquire.count - acquired.granted;
    acquired.banned_until = {};
    acquired.strikes = 0;
    if (acquire.demand.ban) {
        acquired.limited = numbers.next();
        acquired.banned_until = numbers.next_instant();
        acquired.strikes = numbers.next();
    }
    acquired.windows.clear();
    acquired.windows.reserve(window_count(*acquire.quotas));
    acquired.leased_elsewhere.clear();
    for (const auto& quota : *acquire.quotas) {
        for (const Rate& rate : quota.rates) {
            auto& window = acquired.windows.emplace_back();
            window.number = numbers.next(window_number(kLatestInstant, rate.period));
            window.count = numbers.next();
            window.previous = quota.sliding ? numbers.next() : 0;
        }
    }
}

/// The decision in a result, which may have been an error.
Acquired& decision_in(AcquireResult& result) {
    auto* const acquired = std::get_if<Acquired>(&result);
    return acquired != nullptr ? *acquired : result.emplace<Acquired>();
}

/// Whether the result is plausible: at most as many requests granted or limited as were sent, and
/// at most as many units leased as were requested.
bool answers(const Acquired& acquired, const Acquire& acquire) {
    return acquired.granted <= acquire.count &&
           acquired.limited <= acquire.count - acquired.granted &&
           acquired.lease <= std::max<std::int64_t>(acquire.lease, 0);
}

/// Reads the last leases of other nodes. False if they are malformed.
bool read_leases(Numbers& numbers, std::span<const Acquire> acquires,
                 std::vector<AcquireResult>& results) {
    while (numbers.good() && !numbers.at_end()) {
        const auto id = static_cast<std::size_t>(numbers.next());
        const auto table = static_cast<std::size_t>(numbers.next());
        const LeaseElsewhere lease{numbers.next_instant(), numbers.next_instant()};
        if (id < 1 || id > acquires.size() || table < 1 ||
            table > acquires[id - 1].quotas->size()) {
            return false;
        }
        if (auto* const acquired = std::get_if<Acquired>(&results[id - 1])) {
            acquired->leased_elsewhere.resize(acquires[id - 1].quotas->size());
            acquired->leased_elsewhere[table - 1] = lease;
        }
    }
    return numbers.good() && numbers.take_in_range();
}

}  // namespace

const Words& KnownTerms::of(const Acquire& acquire) {
    const auto known = std::ranges::find_if(
        known_, [&](const Encoded& encoded) { return share_terms(encoded.acquire, acquire); });
    if (known != known_.end()) {
        return known->words;
    }
    Encoded encoded{.acquire = {.id = {}, .quotas = acquire.quotas, .demand = acquire.demand},
                    .words = {}};
    add_terms(encoded.words, acquire);
    if (known_.size() < kMost) {
        return known_.emplace_back(std::move(encoded)).words;
    }
    next_ = (next_ + 1) % kMost;
    return (known_[next_] = std::move(encoded)).words;
}

Call acquire_call(std::span<const Acquire> acquires, const Keys& keys,
                  const AcquireContext& context) {
    constexpr std::size_t kOfAKey = 48;
    Call call{&acquire_script()};
    call.keys.reserve(kOfAKey * acquires.size());
    SharedTerms terms(context.terms);
    IdArguments ids(acquires.size(), context.sent);
    for (const Acquire& acquire : acquires) {
        const bool adjusts = has_adjustments(acquire);
        ids.add(acquire, terms.place_of(acquire), adjusts);
        if (acquire.demand.ban) {
            call.keys.add(keys.ban(acquire.id));
        }
        if (std::ranges::any_of(*acquire.quotas, &TableQuota::has_history)) {
            call.keys.add(keys.history(acquire.id));
        }
        for (const auto& quota : *acquire.quotas) {
            call.keys.add_joined(keys.quota_parts(acquire.id, quota.table));
        }
        if (adjusts) {
            add_report_keys(call.keys, acquire, keys, context.node);
        }
    }
    call.arguments.add(terms.end());
    call.arguments.add(context.deadline.time_since_epoch().count());
    call.arguments.add(context.node);
    call.arguments.add(terms.words());
    call.arguments.add(ids.end());
    return call;
}

std::optional<AcquireResults> read_acquired(ReplyValues values, std::span<const Acquire> acquires,
                                            AcquireResults results) {
    Numbers numbers(values);
    auto leases = numbers.take_further();
    results.now = numbers.next_exact_instant();
    results.late = false;
    if (!numbers.take_in_range()) {
        return std::nullopt;
    }
    if (numbers.good() && numbers.at_end() && !acquires.empty() && !leases) {
        results.late = true;
        results.of_ids.clear();
        return results;
    }
    results.of_ids.resize(acquires.size());
    const auto now = std::chrono::floor<std::chrono::milliseconds>(results.now);
    for (std::size_t i = 0; i < acquires.size(); ++i) {
        const Acquire& acquire = acquires[i];
        AcquireResult& result = results.of_ids[i];
        if (const auto error = numbers.next_error()) {
            result = *error;
            continue;
        }
        Acquired& acquired = decision_in(result);
        read_one(numbers, acquire, now, acquired);
        if (!numbers.good()) {
            return std::nullopt;
        }
        if (!numbers.take_in_range()) {
            // An entry of this id holds a number that no gateway writes. Other ids are not
            // affected.
            result = std::string_view("a number of an id is out of range");
            continue;
        }
        if (!answers(acquired, acquire)) {
            return std::nullopt;
        }
    }
    const bool is_whole = numbers.good() && numbers.at_end() &&
                          (!leases || read_leases(*leases, acquires, results.of_ids));
    return is_whole ? std::optional(std::move(results)) : std::nullopt;
}

}  // namespace tollgate::redis
