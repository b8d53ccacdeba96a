#include "module/gateway/loaded_states.hpp"

#include <algorithm>
#include <utility>

namespace tollgate::gateway {

namespace {

void add(Counter& counter, std::int64_t units) noexcept {
    if (units > 0) {
        counter.add(static_cast<std::uint64_t>(units));
    }
}

}  // namespace

void count(RedisStatistics& statistics, const UnitCounts& counts) noexcept {
    add(statistics["lease_units.spent"], counts.spent);
    statistics.taken.add(static_cast<std::uint64_t>(counts.spent + counts.carried));
    add(statistics["lease_units.returned"], counts.returned);
    add(statistics["lease_units.lost"], counts.lost);
    add(statistics["owed_units.noted"], counts.noted);
    add(statistics["owed_units.settled"], counts.settled);
    add(statistics["owed_units.lapsed"], counts.lapsed);
}

LoadedStates::LoadedStates(const LockedStripe& stripe, const EngineContext& context,
                           const AcquireRequest& request)
    : stripe_(stripe),
      statistics_(context.statistics()),
      request_(request),
      redis_(context.settings().name_hash),
      quotas_(*request.quotas) {
    const Quotas& quotas = quotas_;
    if (quotas.size() == 1) {
        states_ = {&one_, 1};
        places_ = {&place_of_one_, 1};
    } else {
        several_.resize(quotas.size());
        places_of_several_.resize(quotas.size());
        states_ = several_;
        places_ = places_of_several_;
    }
    for (std::size_t i = 0; i < quotas.size(); ++i) {
        states_[i] = stripe.quotas().load(key_of(i), quotas[i], places_[i]);
    }
    if (request.demand.ban) {
        ban_ = stripe.bans().load(ban_key());
        states_.front().ban = ban_;
    }
}

void LoadedStates::share_among(std::int64_t nodes) noexcept {
    for (QuotaState& state : states_) {
        state.nodes = nodes;
    }
}

bool LoadedStates::save(SteadyTime now) noexcept {
    if (request_.demand.ban && states_.front().ban != ban_) {
        ban_ = states_.front().ban;
        stripe_.bans().save(ban_key(), ban_, now);
    }
    bool done = true;
    for (std::size_t i = 0; i < quotas_.size(); ++i) {
        const bool saved =
            stripe_.quotas().save(places_[i], key_of(i), quotas_[i], states_[i], now);
        const UnitCounts counts = std::exchange(states_[i].counts, {});
        if (saved) {
            count(statistics_, counts);
        }
        done = done && saved;
    }
    return done;
}

bool LoadedStates::save_all_or_none(SteadyTime now) noexcept {
    // First, each gets a place. Later ones may take the place of earlier ones, which hold nothing.
    for (std::size_t i = 0; i < quotas_.size(); ++i) {
        const QuotaCache::Key key = key_of(i);
        if (!places_[i] && !stripe_.quotas().save(key, quotas_[i], {}, now)) {
            return false;
        }
    }
    for (std::size_t i = 0; i < quotas_.size(); ++i) {
        stripe_.quotas().load(key_of(i), quotas_[i], places_[i]);
    }
    const bool have_places =
        std::ranges::all_of(places_, [](const Place& place) { return static_cast<bool>(place); });
    return have_places && save(now);
}

}  // namespace tollgate::gateway
