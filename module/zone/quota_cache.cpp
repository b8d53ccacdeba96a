#include "module/zone/quota_cache.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

namespace tollgate {

namespace {

template <typename Number>
Number nearest(std::int64_t value) {
    return static_cast<Number>(std::clamp<std::int64_t>(value, std::numeric_limits<Number>::min(),
                                                        std::numeric_limits<Number>::max()));
}

/// Whether these units need more bits than a small place has for what a window owes.
bool is_wide(const QuotaState::Window& window) {
    return Int24(window.owed).value() != window.owed ||
           nearest<std::int16_t>(window.owed_previous) != window.owed_previous;
}

/// Whether a small place has no room for what the state owes.
bool owes_widely(const QuotaState& state) {
    return std::any_of(state.windows.begin(), state.windows.begin() + kMostSmallWindows, is_wide);
}

/// A time that is stored as one after another may be so much before it.
constexpr std::chrono::milliseconds kMostBefore = std::chrono::minutes(1);

/// The values of a quota are in so many pairs of sets.
constexpr std::uint64_t kSetsOfValues = QuotaCache::kMostValues / QuotaCache::SmallTable::kChoices;

TableQuota quota_of(const WindowLayout& layout, bool is_small, std::uint32_t table,
                    std::uint64_t value, std::string_view table_name) {
    TableQuota quota;
    if (value != 0) {
        quota.value = ValueDigest(value);
        quota.by = quota.value.is_group() ? CountedBy::kGroup : CountedBy::kValue;
    }
    quota.table = table_name;
    quota.sliding = layout.sliding;
    quota.table_id = table;
    for (const std::uint32_t period : layout.periods) {
        if (period != 0) {
            const Period of_rate = WindowLayout::period_of(period);
            const bool is_bucket = WindowLayout::is_bucket(period);
            // Nothing is refused, and no lease is recalled, by limits that are not known.
            quota.rates.push_back(of_rate.is_balance() ? Rate::balance()
                                                       : Rate{is_small ? kNoLimit : kNoLimit - 1,
                                                              of_rate, is_bucket ? 1 : 0});
        }
    }
    return quota;
}

/// Whether no window of a quota counts any more if the quota was not used for this time.
bool have_windows_ended(const WindowLayout& layout, std::chrono::milliseconds unused) {
    // Redis may have counted a request a little later than it came.
    constexpr std::chrono::minutes kCountedWithin{1};
    constexpr std::chrono::days kLongestMonth{31};
    std::chrono::milliseconds longest{0};
    for (const std::uint32_t code : layout.periods) {
        if (code != 0 && !WindowLayout::is_bucket(code)) {
            const Period period = WindowLayout::period_of(code);
            longest = std::max<std::chrono::milliseconds>(
                longest, period.is_month() ? kLongestMonth : period.length());
        }
    }
    return unused > (layout.sliding ? 2 : 1) * longest + kCountedWithin;
}

/// Whether two hashes are equal. It avoids the call of memcmp that == makes.
bool is_equal(const IdHash& a, const IdHash& b) {
    constexpr std::size_t kFirst = sizeof(std::uint64_t);
    static_assert(sizeof(IdHash) == kFirst + sizeof(std::uint32_t));
    return std::memcmp(a.data(), b.data(), kFirst) == 0 &&
           std::memcmp(a.data() + kFirst, b.data() + kFirst, sizeof(std::uint32_t)) == 0;
}

/// Whether this is the owner of the quota with this key. If only the hash of the owner is known, it
/// takes some microseconds.
template <std::size_t kRoom>
bool is_of(const StoredOwner<kRoom>& owner, const QuotaCache::Key& key) {
    if (!key.owner.id.empty()) {
        return owner.is(key.owner);
    }
    const QuotaOwner whose = owner.view();
    return is_equal(id_hash(whose.id, whose.group), key.id);
}

/// The hash of the values with this number, in place of that of the quota without a value.
std::uint64_t hash_of_values(std::uint64_t hash, std::uint64_t number) {
    return hash ^ (number + 1) * 0xff51afd7ed558ccdU;
}

}  // namespace

QuotaCache::Key::Key(const QuotaOwner& whose, const IdHash& hash, std::uint32_t redis_id,
                     const TableQuota& quota, std::uint64_t used)
    : Key(whose, hash, redis_id, quota.table_id, quota.shape ? *quota.shape : QuotaShape(quota),
          used, quota.value.number()) {}

QuotaCache::Key::Key(const QuotaOwner& whose, const IdHash& hash, std::uint32_t redis_id,
                     std::uint32_t table_id, const QuotaShape& shape, std::uint64_t used,
                     std::uint64_t value_number)
    : owner(whose),
      id(hash),
      redis(redis_id),
      table(table_id),
      layout(shape.layout),
      is_small(shape.is_small),
      is_in_small(shape.is_small && whose.size() <= kShortOwner),
      api_key(used),
      value(value_number) {
    std::uint64_t hash_of_id = 0;
    std::memcpy(&hash_of_id, id.data(), sizeof(hash_of_id));
    // Odd factors spread both over all bits. No two pairs of Redis and table have the same product.
    place_hash = hash_of_id ^ (std::uint64_t{redis} << 32U | table) * 0x9e3779b97f4a7c15U ^
                 shape.hash * 0xc4ceb9fe1a85ec53U;
    if (value != 0) {
        place_hash = hash_of_values(place_hash, value % kSetsOfValues);
    }
}

QuotaCache::Small::Small(const Key& key, const QuotaState& state)
    : owner(key.owner),
      redis(key.redis),
      table(key.table),
      first_period(key.layout.periods[0] & Period::kLargestCode),
      sliding(key.layout.sliding ? 1U : 0U),
      second_period(key.layout.periods[1] & Period::kLargestCode),
      value_low(static_cast<std::uint32_t>(key.value)),
      value_high(static_cast<std::uint32_t>(key.value >> 32U)) {
    set(state, key.api_key);
}

std::uint32_t QuotaCache::time_after(Instant time, const Uint48& base) {
    const std::int64_t whole = Uint48(time.time_since_epoch().count()).value();
    return whole == 0 ? 0
                      : std::max(nearest<std::uint32_t>(whole - base.value() + kMostBefore.count()),
                                 std::uint32_t{1});
}

Instant QuotaCache::time_from(std::uint32_t stored, const Uint48& base) {
    return stored == 0 ? Instant{}
                       : Instant(std::chrono::milliseconds(base.value() + stored) - kMostBefore);
}

void QuotaCache::Small::set(const QuotaState& state, std::uint64_t used) {
    set_spent(state, used);
    has_report = state.report ? 1U : 0U;
    returns_soon = state.returns_soon ? 1U : 0U;
    owes_refund = state.owes_refund ? 1U : 0U;
    is_wide = owes_widely(state) ? 1U : 0U;
    has_lost_calls = state.lost_calls.empty() ? 0U : 1U;
    own = nearest<std::uint32_t>(state.own);
    counted_at = Uint48(state.counted_at.time_since_epoch().count());
    asked = Uint48(state.asked.count());
    returns_until = time_after(state.returns_until, counted_at);
    lease_calls = nearest<std::uint16_t>(state.lease_calls);
    for (std::size_t i = 0; i < windows.size(); ++i) {
        const QuotaState::Window& window = state.windows[i];
        windows[i] = {nearest<std::uint32_t>(window.counted.number),
                      nearest<std::uint32_t>(window.counted.count),
                      nearest<std::uint32_t>(window.counted.previous)};
        owed[i] = Int24(window.owed);
        owed_previous[i] = nearest<std::int16_t>(window.owed_previous);
    }
}

bool QuotaCache::Small::is(const Key& other) const {
    return is_of(owner, other) && table == other.table && redis == other.redis &&
           first_period == other.layout.periods[0] && second_period == other.layout.periods[1] &&
           (sliding != 0) == other.layout.sliding && value() == other.value;
}

bool QuotaCache::Small::is_sibling(const Key& other) const {
    return value() != 0 && owner.is(other.owner) && table == other.table && redis == other.redis;
}

WindowLayout QuotaCache::Small::layout() const {
    WindowLayout layout;
    layout.periods = {first_period, second_period};
    layout.sliding = sliding != 0;
    return layout;
}

bool QuotaCache::Small::has_ended(std::chrono::milliseconds unused) const {
    return have_windows_ended(layout(), unused);
}

void QuotaCache::Small::unpack(QuotaState& state) const {
    for (std::size_t i = 0; i < windows.size(); ++i) {
        const Window& window = windows[i];
        state.windows[i] = {
            {window.number, window.count, window.previous}, owed[i].value(), owed_previous[i]};
    }
    state.lease = lease;
    state.own = own;
    state.counted_at = Instant(std::chrono::milliseconds(counted_at.value()));
    state.asked = SteadyTime(asked.value());
    state.lease_calls = static_cast<int>(lease_calls);
    state.returns_until = time_from(returns_until, counted_at);
    state.returns_soon = returns_soon != 0;
    state.owes_refund = owes_refund != 0;
    state.arrivals = arrivals();
}

QuotaCache::Rest::Rest(const Key& whose, const QuotaState& state)
    : key(whose), report(state.report.value_or(Report{})), lost_calls(state.lost_calls) {
    static_assert(2 * kMostSmallWindows <= kMaxWindows);
    for (std::size_t i = 0; i < kMostSmallWindows && whose.is_in_small; ++i) {
        const QuotaState::Window& window = state.windows[i];
        report.adjustments[kMostSmallWindows + i] = {0, window.owed, window.owed_previous};
    }
}

void QuotaCache::Small::unpack(const Rest& rest, QuotaState& state) const {
    if (has_report != 0) {
        state.report = rest.report;
    }
    if (has_lost_calls != 0) {
        state.lost_calls = rest.lost_calls;
    }
    for (std::size_t i = 0; i < windows.size(); ++i) {
        const Adjustment& all_owed = rest.report.adjustments[kMostSmallWindows + i];
        if (is_wide != 0) {
            state.windows[i].owed = all_owed.units;
            state.windows[i].owed_previous = all_owed.previous;
        }
        if (state.report) {
            state.report->adjustments[kMostSmallWindows + i] = {};
        }
    }
}

void QuotaCache::Large::unpack(const Rest& rest, QuotaState& state) const {
    if (has_report != 0) {
        state.report = rest.report;
    }
    if (has_lost_calls != 0) {
        state.lost_calls = rest.lost_calls;
    }
}

Arrivals QuotaCache::Small::arrivals() const {
    // A worker that is killed may leave invalid bytes.
    return {last_arrived(), std::isfinite(arrived) ? arrived : 0};
}

void QuotaCache::Small::set_spent(const QuotaState& state, std::uint64_t used) {
    lease = nearest<std::uint32_t>(state.lease);
    last_arrival = nearest<std::int32_t>((state.arrivals.last - state.asked).count());
    arrived = state.arrivals.units;
    api_key = {static_cast<std::uint32_t>(used), static_cast<std::uint32_t>(used >> 32U)};
}

bool QuotaCache::Small::is_plain(const TableQuota& quota, std::int64_t cost) const {
    for (std::size_t i = 0; i < quota.rates.size(); ++i) {
        const Window& window = windows[i];
        if (!has_room({window.number, window.count, window.previous}, quota.rates[i], cost)) {
            return false;
        }
    }
    return !is_held() && lease_calls == 0 && is_rare(arrivals(), quota, cost);
}

bool QuotaCache::Small::may_count(const PlainReply& reply) const {
    const Window& longest = windows[reply.windows.size() - 1];
    const WindowCount& counted = reply.windows.back();
    return !is_held() && lease_calls == 0 && returns_until == 0 &&
           counted_at.value() < reply.now.time_since_epoch().count() &&
           (longest.number != counted.number || longest.count <= counted.count);
}

void QuotaCache::Small::count(const PlainReply& reply, std::uint64_t used) {
    const std::size_t last = reply.windows.size() - 1;
    const std::int64_t before = windows[last].number == reply.windows[last].number ? own : 0;
    Arrivals noted = arrivals();
    noted.note(reply.sent, reply.units, reply.constant);
    const std::int64_t asked_last = std::max<std::int64_t>(asked.value(), reply.sent.count());
    for (std::size_t i = 0; i <= last; ++i) {
        const WindowCount& counted = reply.windows[i];
        windows[i] = {nearest<std::uint32_t>(counted.number), nearest<std::uint32_t>(counted.count),
                      nearest<std::uint32_t>(counted.previous)};
    }
    api_key = {static_cast<std::uint32_t>(used), static_cast<std::uint32_t>(used >> 32U)};
    own = nearest<std::uint32_t>(before + reply.units);
    counted_at = Uint48(reply.now.time_since_epoch().count());
    asked = Uint48(asked_last);
    last_arrival = nearest<std::int32_t>(noted.last.count() - asked_last);
    arrived = noted.units;
    returns_soon = 0;
}

QuotaCache::Held QuotaCache::Small::unpack() const {
    Held held{.owner = StoredOwner<kLongestOwner>(owner.view()),
              .api_key = std::uint64_t{api_key[1]} << 32U | api_key[0],
              .redis = redis,
              .table = table,
              .layout = layout(),
              .state = {},
              .has_report = has_report != 0 || has_lost_calls != 0,
              .is_small = true,
              .value = value()};
    unpack(held.state);
    return held;
}

QuotaCache::StoredKey::StoredKey(const Key& key)
    : id(key.id),
      redis(key.redis),
      table(key.table),
      periods(key.layout.periods),
      sliding(key.layout.sliding ? 1 : 0),
      is_small(key.is_small ? 1 : 0),
      is_in_small(key.is_in_small ? 1 : 0),
      api_key(key.api_key),
      value(key.value) {}

bool QuotaCache::StoredKey::is(const Key& key) const {
    return is_equal(id, key.id) && table == key.table && redis == key.redis &&
           periods == key.layout.periods && (sliding != 0) == key.layout.sliding &&
           (is_in_small != 0) == key.is_in_small && (is_small != 0) == key.is_small &&
           value == key.value;
}

QuotaCache::Key QuotaCache::StoredKey::key() const {
    Key found({}, id, redis, quota(""), api_key);
    found.is_in_small = is_in_small != 0;
    return found;
}

WindowLayout QuotaCache::StoredKey::layout() const {
    WindowLayout layout;
    layout.periods = periods;
    layout.sliding = sliding != 0;
    return layout;
}

TableQuota QuotaCache::StoredKey::quota(std::string_view table_name) const {
    return quota_of(layout(), is_small != 0, table, value, table_name);
}

QuotaCache::Large::Large(const Key& key, const QuotaState& state)
    : owner(key.owner),
      sliding(key.layout.sliding ? 1 : 0),
      is_small(key.is_small ? 1 : 0),
      redis(key.redis),
      table(key.table),
      periods(key.layout.periods),
      value(key.value) {
    set(state, key.api_key);
}

void QuotaCache::Large::set(const QuotaState& state, std::uint64_t used) {
    set_spent(state, used);
    has_report = state.report ? 1 : 0;
    returns_soon = state.returns_soon ? 1 : 0;
    owes_refund = state.owes_refund ? 1 : 0;
    has_lost_calls = state.lost_calls.empty() ? 0 : 1;
    lease_calls = nearest<std::uint16_t>(state.lease_calls);
    windows = state.windows;
    own = state.own;
    counted_at = state.counted_at;
    asked = state.asked;
    returns_until = state.returns_until;
}

bool QuotaCache::Large::is(const Key& other) const {
    return is_of(owner, other) && table == other.table && redis == other.redis &&
           periods == other.layout.periods && (sliding != 0) == other.layout.sliding &&
           (is_small != 0) == other.is_small && value == other.value;
}

bool QuotaCache::Large::is_sibling(const Key& other) const {
    return value != 0 && owner.is(other.owner) && table == other.table && redis == other.redis;
}

WindowLayout QuotaCache::Large::layout() const {
    WindowLayout layout;
    layout.periods = periods;
    layout.sliding = sliding != 0;
    return layout;
}

bool QuotaCache::Large::owes() const {
    return has_rest() || std::ranges::any_of(windows, [](const QuotaState::Window& window) {
               return window.owed != 0 || window.owed_previous != 0;
           });
}

bool QuotaCache::Large::has_ended(std::chrono::milliseconds unused) const {
    for (std::size_t i = 0; i < kMaxWindows; ++i) {
        if (WindowLayout::is_bucket(periods[i])) {
            const WindowCount& bucket = windows[i].counted;
            const std::chrono::microseconds full_after(bucket.count /
                                                       std::max<std::int64_t>(bucket.number, 1));
            if (unused <= full_after) {
                return false;
            }
        }
    }
    return have_windows_ended(layout(), unused);
}

void QuotaCache::Large::unpack(QuotaState& state) const {
    state.windows = windows;
    state.lease = lease;
    state.own = own;
    state.counted_at = counted_at;
    state.asked = asked;
    state.lease_calls = static_cast<int>(lease_calls);
    state.returns_until = returns_until;
    state.returns_soon = returns_soon != 0;
    state.owes_refund = owes_refund != 0;
    state.arrivals = arrivals;
}

void QuotaCache::Large::set_spent(const QuotaState& state, std::uint64_t used) {
    lease = state.lease;
    arrivals = state.arrivals;
    api_key = used;
}

QuotaCache::Held QuotaCache::Large::unpack() const {
    Held held{.owner = owner,
              .api_key = api_key,
              .redis = redis,
              .table = table,
              .layout = layout(),
              .state = {},
              .has_report = has_rest(),
              .is_small = is_small != 0,
              .value = value};
    unpack(held.state);
    return held;
}

template <typename Table>
TablePosition QuotaCache::load_from(const Table& table, const Key& key, QuotaState& state,
                                    TablePosition place) const {
    place = table.find_again(place, key);
    if (!place) {
        return place;
    }
    const auto& entry = table.at(place);
    entry.unpack(state);
    if (entry.has_rest()) {
        if (const TablePosition rest = reports_.find(key)) {
            entry.unpack(reports_.at(rest), state);
        }
    }
    return place;
}

QuotaState QuotaCache::load(const Key& key) const {
    QuotaState state;
    load(key, state);
    return state;
}

TablePosition QuotaCache::load(const Key& key, QuotaState& state, TablePosition place) const {
    static_assert(SmallTable::place_size() == 144, "SIZING.md shows it");
    return key.is_in_small ? load_from(small_, key, state, place)
                           : load_from(large_, key, state, place);
}

void QuotaCache::save_spent(TablePosition place, const Key& key, const QuotaState& state,
                            SteadyTime now) const {
    const auto save_in = [&](const auto& table) {
        table.at(place).set_spent(state, key.api_key);
        table.touch(place, now);
    };
    key.is_in_small ? save_in(small_) : save_in(large_);
}

TablePosition QuotaCache::find_small(const Key& key, TablePosition place) const {
    return key.is_in_small ? small_.find_again(place, key) : TablePosition{};
}

bool QuotaCache::is_plain(const Key& key, const TableQuota& quota, std::int64_t cost,
                          TablePosition& place) const {
    place = find_small(key, place);
    return place && cost > 0 && small_.at(place).is_plain(quota, cost);
}

bool QuotaCache::count_in_place(const Key& key, const PlainReply& reply, SteadyTime now,
                                TablePosition place) const {
    place = find_small(key, place);
    if (!place || !small_.at(place).may_count(reply)) {
        return false;
    }
    small_.change(place, now, [&](Small& entry) { entry.count(reply, key.api_key); });
    return true;
}

bool QuotaCache::save(const Key& key, const QuotaState& state, SteadyTime now) {
    return save(TablePosition{}, key, state, now);
}

bool QuotaCache::save(TablePosition place, const Key& key, const QuotaState& state,
                      SteadyTime now) {
    // Store the rest first: units that have left the windows must not be lost if it has no room.
    const bool has_rest =
        state.report || !state.lost_calls.empty() || (key.is_in_small && owes_widely(state));
    if (has_rest && !reports_.put(key, now, key, state)) {
        return false;
    }
    const bool done = key.is_in_small ? save_in(small_, place, key, state, now)
                                      : save_in(large_, place, key, state, now);
    if (!done) {
        reports_.remove(key);
    }
    return done;
}

/// A value takes the place of others of its id, or of a quota without an effect.
template <typename Table>
TablePosition QuotaCache::put_in(const Table& table, const Key& key, const QuotaState& state,
                                 SteadyTime now) const {
    if (!ValueDigest::is_of_value(key.value)) {
        return table.put(key, now, key, state);
    }
    const auto may_replace = [&](const auto& entry, std::chrono::milliseconds unused) {
        return entry.is_sibling(key) || entry.has_ended(unused);
    };
    return table.put_replacing(may_replace, key, now, key, state);
}

template <typename Table>
bool QuotaCache::save_in(const Table& table, TablePosition place, const Key& key,
                         const QuotaState& state, SteadyTime now) const {
    const TablePosition known = place ? place : table.find(key);
    if (!known) {
        return static_cast<bool>(put_in(table, key, state, now));
    }
    const bool had_rest = table.at(known).has_rest();
    table.change(known, now, [&](auto& entry) { entry.set(state, key.api_key); });
    if (had_rest && !table.at(known).has_rest()) {
        reports_.remove(key);
    }
    return true;
}

QuotaCache::HeldSummary QuotaCache::Held::summary() const {
    HeldUnits units = held_units(state);
    units.owes = units.owes || has_report;
    return {owner.view(), redis, table, WindowLayout::period_of(layout.periods.front()),
            value,        units};
}

IdHash QuotaCache::Held::id() const {
    const QuotaOwner whose = owner.view();
    return id_hash(whose.id, whose.group);
}

TableQuota QuotaCache::Held::quota(std::string_view table_name) const {
    TableQuota quota = quota_of(layout, is_small, table, value, table_name);
    for (std::size_t i = 0; i < quota.rates.size(); ++i) {
        if (quota.rates[i].is_bucket()) {
            quota.rates[i].requests = std::max<std::int64_t>(state.windows[i].counted.number, 1);
        }
    }
    return quota;
}

QuotaState QuotaCache::drop(const Held& held) const {
    const TableQuota quota = held.quota("");
    const Key key(held.owner.view(), held.id(), held.redis, quota, held.api_key);
    QuotaState state = load(key);
    reports_.remove(key);
    (key.is_in_small ? small_.remove(key) : large_.remove(key));
    return state;
}

}  // namespace tollgate
