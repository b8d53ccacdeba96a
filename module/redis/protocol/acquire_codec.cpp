#include "module/redis/protocol/acquire_codec.hpp"

#include <algorithm>
#include <utility>

#include "module/plan/bucket.hpp"

namespace tollgate::redis {

namespace {

bool is_alike(const BanPolicy& a, const BanPolicy& b) {
    return a.after == b.after && a.within == b.within && a.first == b.first && a.up_to == b.up_to &&
           a.all_strike == b.all_strike;
}

bool is_counted_alike(const TableQuota& a, const TableQuota& b) {
    return a.sliding == b.sliding && a.rates == b.rates && a.history == b.history &&
           a.notify == b.notify && (a.notify.empty() || a.soft_limits == b.soft_limits) &&
           a.by == b.by && a.most_values == b.most_values;
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

/// For each table, 1 if a refusal by it is a strike, or 0.
std::string striking_tables(const Demand& demand, const Quotas& quotas) {
    std::string tables;
    tables.reserve(quotas.size());
    for (const TableQuota& quota : quotas) {
        tables += demand.strikes_in(quota) ? '1' : '0';
    }
    return tables;
}

void add_cost(Words& terms, const Cost& cost, std::size_t quotas) {
    std::string text;
    for (std::size_t i = 0; i < (cost.is_uniform() ? 1 : quotas); ++i) {
        const QuotaCost& of_quota = cost.of(i);
        text.append(i == 0 ? "" : ",").append(std::to_string(of_quota.units));
        text.append(of_quota.settles ? "s" : "");
    }
    terms.add(text);
}

void add_ban(Words& terms, const Demand& demand, const Quotas& quotas) {
    if (!demand.ban) {
        terms.add(0);
        return;
    }
    terms.add(demand.ban->after);
    terms.add(demand.ban->within.count());
    terms.add(demand.ban->first.count());
    terms.add(demand.ban->up_to.count());
    terms.add(striking_tables(demand, quotas));
}

/// The limit of a window for the script: with the billing day, if months do not begin on the first.
std::string script_limit(const Rate& rate) {
    std::string text = std::to_string(rate.requests);
    if (rate.period.is_month() && rate.period != Period::month()) {
        const BillingDay billing = rate.period.billing();
        for (const std::int64_t part : {std::int64_t{billing.day}, std::int64_t{billing.before},
                                        std::int64_t{billing.from.time_since_epoch().count()}}) {
            text.append(":").append(std::to_string(part));
        }
    }
    return text;
}

/// The length of a window in ms for the script; 0: a month.
std::int64_t script_length(Period period) {
    return period.is_month() ? 0 : std::chrono::milliseconds(period.length()).count();
}

void add_table(Words& terms, const TableQuota& quota) {
    const auto windows = static_cast<std::int64_t>(quota.rates.size());
    terms.add(quota.sliding ? -windows : windows);
    std::string counts = std::to_string(quota.history.count());
    if (quota.most_values > 0) {
        counts.append(":").append(std::to_string(quota.most_values));
    }
    if (quota.has_notices()) {
        counts.append(" ").append(quota.notify);
        for (const std::int64_t limit : quota.soft_limits) {
            counts.append(";").append(std::to_string(limit));
        }
    }
    terms.add(counts);
    for (const Rate& rate : quota.rates) {
        if (rate.is_bucket()) {
            terms.add(std::to_string(rate.burst) + ":" + std::to_string(token_debt(rate)));
            terms.add(-rate.requests);
        } else {
            terms.add(script_limit(rate));
            terms.add(script_length(rate.period));
        }
    }
    for (const Rate& rate : quota.rates) {
        const auto period = stored_period(rate.period);
        if (rate.is_bucket()) {
            terms.add_joined(window_field(period, window_part::kTime));
            terms.add_joined(window_field(period, window_part::kDebt));
            if (quota.sliding) {
                terms.add_joined(window_field(period, window_part::kDebt));  // not used
            }
            continue;
        }
        if (rate.is_balance()) {
            terms.add_joined(window_field(period, window_part::kLeft));  // in place of a number
            terms.add_joined(window_field(period, window_part::kLeft));
            continue;
        }
        terms.add_joined(window_field(period, window_part::kNumber));
        terms.add_joined(window_field(period, window_part::kCount));
        if (quota.sliding) {
            terms.add_joined(window_field(period, window_part::kPrevious));
        }
    }
}

void add_terms(Words& terms, const Acquire& acquire) {
    add_cost(terms, acquire.demand.cost, acquire.quotas->size());
    add_ban(terms, acquire.demand, *acquire.quotas);
    terms.add(acquire.quotas->size());
    for (const auto& quota : *acquire.quotas) {
        add_table(terms, quota);
    }
}

bool has_history(const Acquire& acquire) {
    return std::ranges::any_of(*acquire.quotas, &TableQuota::has_history);
}

bool has_notices(const Acquire& acquire) {
    return std::ranges::any_of(*acquire.quotas, &TableQuota::has_notices);
}

/// Whether the script lists the id if it has no key: see Keys::subjects.
bool may_be_listed(const Acquire& acquire) {
    return acquire.demand.ban || has_history(acquire);
}

bool has_adjustments(const Acquire& acquire) {
    return !acquire.lost_calls.empty() ||
           std::ranges::any_of(acquire.adjustments, [](const Adjustment& adjustment) {
               return adjustment.units != 0 || adjustment.previous != 0;
           });
}

/// The number of the report of a table, and each lost call after a colon.
void add_report_number(Words& ids, const Acquire& acquire, std::size_t table) {
    if (acquire.lost_calls.empty() || acquire.lost_calls[table].empty()) {
        ids.add(acquire.report_numbers[table]);
        return;
    }
    std::string text = std::to_string(acquire.report_numbers[table]);
    for (const std::uint64_t number : acquire.lost_calls[table].numbers()) {
        text.append(":").append(std::to_string(number));
    }
    ids.add(text);
}

void add_adjustments(Words& ids, const Acquire& acquire) {
    ids.add(std::ranges::count_if(acquire.report_numbers, [](auto number) { return number != 0; }));
    auto adjustment = acquire.adjustments.begin();
    for (std::size_t table = 0; table < acquire.quotas->size(); ++table) {
        add_report_number(ids, acquire, table);
        for (const Rate& rate : (*acquire.quotas)[table].rates) {
            ids.add(adjustment->number - first_number(rate));
            ids.add(adjustment->units);
            ids.add(adjustment->previous);
            ++adjustment;
        }
    }
}

/// The further arguments of an id that has not only a lease.
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

/// Appends a number in the format `<i8` of struct.unpack: little-endian. The script reads it in a
/// fourth of the time of a word with digits.
void append_packed(std::string& bytes, std::int64_t number) {
    constexpr unsigned kBits = 64;
    constexpr unsigned kByte = 8;
    for (unsigned shift = 0; shift < kBits; shift += kByte) {
        bytes += static_cast<char>(static_cast<std::uint64_t>(number) >> shift);
    }
}

/// The arguments of the ids. Ids that follow each other and are alike share them, if they have no
/// further ones, or only a lease each.
class IdArguments {
  public:
    IdArguments(std::size_t ids, SteadyTime sent) : sent_(sent) {
        constexpr std::size_t kOfAnId = 24;
        words_.reserve(kOfAnId * ids);
    }

    /// Adds an id, whose terms start at ARGV[terms].
    void add(const Acquire& acquire, std::size_t terms, bool adjusts) {
        const bool has_further = adjusts || acquire.strikes > 0;
        const Alike kind{terms, acquire.count, acquire.lease > 0};
        if (has_further || kind != kind_) {
            end_alike();
            kind_ = kind;
        }
        if (has_further) {
            words_.add(terms);
            words_.add(acquire.count);
            add_further(words_, acquire, adjusts, sent_);
            return;
        }
        ++alike_;
        if (kind.has_lease) {
            append_packed(leases_, acquire.lease);
        }
    }
    /// All of them, after the last add().
    const Words& end() {
        end_alike();
        return words_;
    }

  private:
    /// What alike ids have in common.
    struct Alike {
        std::size_t terms = 0;
        std::int64_t count = 0;
        bool has_lease = false;
        bool operator==(const Alike&) const = default;
    };

    void end_alike() {
        if (alike_ == 0) {
            return;
        }
        words_.add(kind_.terms);
        words_.add(kind_.count);
        if (kind_.has_lease) {
            words_.add(1);
            words_.add(leases_);
            leases_.clear();
        } else {
            words_.add(1 - alike_);
        }
        alike_ = 0;
    }

    SteadyTime sent_;
    Words words_;
    Alike kind_;
    std::int64_t alike_ = 0;  ///< ids of this kind that were not written yet
    std::string leases_;      ///< of them, packed
};

/// The numbers of an id beside those of its windows: the requests granted, the lease, and three of
/// bans.
constexpr std::size_t kNumbersOfAnId = 5;
constexpr std::size_t kNumbersOfAWindow = 2;
constexpr std::size_t kNumbersOfASlidingWindow = 3;
// A table that counts values and keeps a history has a day for all of them in addition.
static_assert(kNumbersOfAnId +
                  kMostTables * (kMaxWindows * kNumbersOfASlidingWindow + kNumbersOfAWindow) <=
              kMostReplyNumbers);

/// Whose counter a quota is.
Owner owner_of(const Acquire& acquire, const TableQuota& quota) {
    const Owner owner(acquire.id, acquire.group);
    return quota.by == CountedBy::kGroup ? Owner(owner.tag()) : owner;
}

void add_report_keys(Words& words, const Acquire& acquire, const Keys& keys,
                     std::string_view node) {
    for (std::size_t table = 0; table < acquire.quotas->size(); ++table) {
        if (acquire.report_numbers[table] != 0) {
            const TableQuota& quota = (*acquire.quotas)[table];
            words.add(keys.report(owner_of(acquire, quota), quota.table, quota.value.suffix(), node,
                                  layout_name(quota)));
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
    /// Lua counts from 1. The token, the index of the first id, the deadline, the node and the
    /// number of the call precede the terms.
    static constexpr std::size_t kFirst = 6;
    KnownTerms* known_;
    Words words_;
    std::vector<std::pair<const Acquire*, std::size_t>> places_;
};

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

std::size_t reply_numbers(const Quotas& quotas) {
    std::size_t numbers = kNumbersOfAnId;
    for (const TableQuota& quota : quotas) {
        numbers +=
            quota.rates.size() * (quota.sliding ? kNumbersOfASlidingWindow : kNumbersOfAWindow);
    }
    return numbers;
}

bool need_lists(std::span<const Acquire> acquires) {
    return std::ranges::any_of(acquires, [](const Acquire& acquire) {
        return has_notices(acquire) || may_be_listed(acquire);
    });
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
        // An id in a group has a key.
        if (may_be_listed(acquire) && acquire.group.empty()) {
            call.keys.add_joined(keys.id_parts(acquire.id));
        }
        if (acquire.demand.ban) {
            call.keys.add(keys.ban({acquire.id, acquire.group}));
        }
        if (has_history(acquire)) {
            call.keys.add(keys.history({acquire.id, acquire.group}));
        }
        for (const auto& quota : *acquire.quotas) {
            call.keys.add_joined(
                keys.quota_parts(owner_of(acquire, quota), quota.table, quota.value.suffix()));
        }
        if (adjusts) {
            add_report_keys(call.keys, acquire, keys, context.node);
        }
        for (const auto& quota : *acquire.quotas) {
            if (quota.most_values > 0) {
                call.keys.add_joined(keys.quota_parts(owner_of(acquire, quota), quota.table,
                                                      ValueDigest::kOthersSuffix));
            }
        }
    }
    constexpr std::size_t kOfOthers = 128;
    const Words& of_ids = ids.end();
    call.arguments.reserve(kOfOthers + terms.words().bytes().size() + of_ids.bytes().size());
    if (std::ranges::any_of(acquires, has_notices)) {
        call.keys.add(keys.notices_of(context.tag));
    }
    if (need_lists(acquires)) {
        call.keys.add(keys.subjects(context.tag));
        call.keys.add(keys.subject_ends(context.tag));
    }
    call.arguments.add(terms.end());
    call.arguments.add(context.deadline.time_since_epoch().count());
    call.arguments.add(context.node);
    call.arguments.add(context.call);
    call.arguments.add(terms.words());
    call.arguments.add(of_ids);
    return call;
}

}  // namespace tollgate::redis
