// What the acquire script returns: see acquire_codec.hpp.

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <limits>
#include <utility>

#include "module/plan/bucket.hpp"
#include "module/redis/protocol/acquire_codec.hpp"
#include "module/redis/protocol/reply.hpp"

namespace tollgate::redis {

namespace {

constexpr std::int64_t kLatest = kLatestInstant.time_since_epoch().count();
constexpr std::int64_t kLatestExact = kLatest * 1000;
/// The largest number of a call: see Zone::number_call.
constexpr std::int64_t kLargestNumber = std::numeric_limits<std::int64_t>::max();

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

    /// The next number, at most `most`, which is the limit of units by default.
    std::int64_t next(std::int64_t most = Units::kMost) {
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
    Instant next_instant() { return Instant(std::chrono::milliseconds(next(kLatest))); }
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

    /// Takes the mark of an id that has only its counts: see SharedNumbers.
    bool take_shared() {
        if (!good_ || peek() != kShared) {
            return false;
        }
        numbers_.remove_prefix(kWidth);
        return true;
    }

    bool good() const { return good_; }
    bool at_end() const { return numbers_.empty() && errors_.empty(); }

  private:
    static constexpr std::size_t kWidth = 8;
    static constexpr std::int64_t kError = -1;
    static constexpr std::int64_t kShared = -2;

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
            if (rate.is_bucket()) {
                window.number = rate.requests;
                window.previous = numbers.next(kLatestExact);
                window.count = numbers.next(kMostDebt);
                if (quota.sliding) {
                    numbers.next();
                }
                continue;
            }
            const std::int64_t first = first_number(rate);
            window.number =
                first + numbers.next(window_number(kLatestInstant, rate.period) - first);
            window.count = numbers.next();
            window.previous = quota.sliding ? numbers.next() : 0;
        }
    }
    acquired.taken_back.clear();
    for (const LostCalls& named : acquire.lost_calls) {
        const std::int64_t number = named.empty() ? 0 : numbers.next(kLargestNumber);
        acquired.taken_back.push_back(static_cast<std::uint64_t>(number));
    }
}

/// The numbers of the current windows, which ids that follow each other may share.
class SharedNumbers {
  public:
    /// Sets the numbers to those of an id that has its own in the reply.
    void set(const WindowCounts& windows) {
        windows_ = windows.size();
        for (std::size_t i = 0; i < std::min(windows_, numbers_.size()); ++i) {
            numbers_[i] = windows[i].number;
        }
    }

    /// Reads an id that has only its counts: all its requests are granted, with the lease that it
    /// wants, and it has no strikes. False if its windows are others.
    bool read(Numbers& numbers, const Acquire& acquire, Instant now, Acquired& acquired) const {
        if (windows_ != numbers_.size() || window_count(*acquire.quotas) != windows_) {
            return false;
        }
        acquired.now = now;
        acquired.granted = acquire.count;
        acquired.lease = std::max<std::int64_t>(acquire.lease, 0);
        acquired.limited = 0;
        acquired.banned_until = {};
        acquired.strikes = 0;
        acquired.taken_back.clear();
        acquired.windows.clear();
        acquired.windows.reserve(windows_);
        acquired.leased_elsewhere.clear();
        for (const std::int64_t number : numbers_) {
            acquired.windows.push_back({number, numbers.next(), 0});
        }
        return true;
    }

  private:
    std::size_t windows_ = 0;  ///< of that id; 0: there was none
    std::array<std::int64_t, 2> numbers_{};
};

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
    SharedNumbers shared;
    const auto now = std::chrono::floor<std::chrono::milliseconds>(results.now);
    for (std::size_t i = 0; i < acquires.size(); ++i) {
        const Acquire& acquire = acquires[i];
        AcquireResult& result = results.of_ids[i];
        if (const auto error = numbers.next_error()) {
            result = *error;
            continue;
        }
        Acquired& acquired = decision_in(result);
        if (!numbers.take_shared()) {
            read_one(numbers, acquire, now, acquired);
            shared.set(acquired.windows);
        } else if (!shared.read(numbers, acquire, now, acquired)) {
            return std::nullopt;
        }
        if (!numbers.good()) {
            return std::nullopt;
        }
        if (!numbers.take_in_range()) {
            // An entry of this id holds a number that no gateway writes. Other ids are not
            // affected. What else the call asks of this id may have been done.
            result = kOutOfRange;
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
