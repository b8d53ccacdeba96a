#include "module/http/key_lookups.hpp"

#include <algorithm>
#include <memory>
#include <utility>

#include "module/http/clock.hpp"
#include "module/http/held_quotas.hpp"
#include "module/http/redis_client.hpp"
#include "module/key/digest.hpp"
#include "module/redis/protocol/lookup_reply.hpp"
#include "module/redis/protocol/pipeline.hpp"

namespace tollgate::http {

namespace {

template <typename Owner>
Owner* first_of(const ngx_queue_t& queue) {
    return ngx_queue_empty(&queue) ? nullptr
                                   : static_cast<QueueLink<Owner>*>(ngx_queue_head(&queue))->owner;
}

}  // namespace

/// One call for a key's record. It refers to the look-up by key and number only: the look-up may
/// have failed before the answer comes.
class KeyLookups::Call : public redis::ReplyHandler {
  public:
    Call(KeyLookups& lookups, const KeyDigest& key, std::uint64_t number)
        : lookups_(lookups), key_(key), number_(number), asked_(steady_time()) {
        ++lookups_.calls_;
    }
    /// Tells no waiter from here: who destroys it may be in the middle of something.
    ~Call() override {
        if (!ended_) {
            end();
            lookups_.lose(*this);
        }
    }
    Call(const Call&) = delete;
    Call& operator=(const Call&) = delete;

    const KeyDigest& key() const { return key_; }
    std::uint64_t number() const { return number_; }
    SteadyTime asked() const { return asked_; }

    void on_values(std::span<const redisReply* const> values) noexcept override {
        end();
        const bool done = guarded(lookups_.client_.log(), false,
                                  [&] { return lookups_.take_answer(*this, values); });
        if (!done) {
            lookups_.fail(*this);
        }
        lookups_.send_waiting();
    }
    void on_error(std::string_view message) noexcept override {
        end();
        guarded(lookups_.client_.log(), false, [&] {
            lookups_.client_.report(message);
            return true;
        });
        lookups_.fail(*this);
        lookups_.send_waiting();
    }
    void on_failure() noexcept override {
        end();
        lookups_.fail(*this);
        lookups_.send_waiting();
    }

  private:
    void end() noexcept {
        if (!std::exchange(ended_, true)) {
            --lookups_.calls_;
        }
    }

    KeyLookups& lookups_;
    KeyDigest key_;
    std::uint64_t number_;
    SteadyTime asked_;
    bool ended_ = false;
};

KeyWaiter::Pending::Pending(KeyLookups& owner, const KeyDigest& digest)
    : lookups(owner), key(digest) {
    ngx_queue_init(&waiters);
}

KeyWaiter::Pending::~Pending() {
    while (auto* waiter = first_of<KeyWaiter>(waiters)) {
        // NOLINTNEXTLINE(clang-analyzer-core.NullDereference): a queue is a ring
        ngx_queue_remove(&waiter->link_);
        waiter->pending_ = nullptr;
    }
    if (waits_for_turn) {
        ngx_queue_remove(&turn);
    }
}

void KeyWaiter::leave_lookup() noexcept {
    Pending* pending = std::exchange(pending_, nullptr);
    if (pending == nullptr) {
        return;
    }
    ngx_queue_remove(&link_);
    if (pending->waits_for_turn && ngx_queue_empty(&pending->waiters)) {
        pending->lookups.forget(*pending);
    }
}

KeyLookups::KeyLookups(RedisClient& client)
    : client_(client), loss_(redis::Event::calling<&KeyLookups::fail_lost>(this, client.log())) {
    for (ngx_queue_t& turn : turns_) {
        ngx_queue_init(&turn);
    }
}

KeyLookups::~KeyLookups() = default;

void KeyLookups::submit(KeyWaiter& waiter, const KeyDigest& key, Priority priority) {
    const auto [place, is_new] = pending_.try_emplace(key, *this, key);
    Pending& pending = place->second;
    ngx_queue_insert_tail(&pending.waiters, &waiter.link_);
    waiter.pending_ = &pending;
    if (!is_new) {
        return;
    }
    ngx_queue_insert_tail(&turns_[static_cast<std::size_t>(priority)], &pending.turn);
    pending.waits_for_turn = true;
    send_waiting();
}

KeyLookups::Pending* KeyLookups::next_in_turn() {
    for (const ngx_queue_t& turn : turns_) {
        if (auto* pending = first_of<Pending>(turn)) {
            return pending;
        }
    }
    return nullptr;
}

/// Sends what may be sent now. A call that fails at once comes here again, from inside.
void KeyLookups::send_waiting() noexcept {
    if (std::exchange(sending_, true)) {
        return;
    }
    while (calls_ < kMostCalls) {
        Pending* pending = next_in_turn();
        if (pending == nullptr) {
            break;
        }
        ngx_queue_remove(&pending->turn);
        pending->waits_for_turn = false;
        if (is_wanted(*pending)) {
            send_or_fail(*pending);
        } else {
            forget(*pending);
        }
    }
    sending_ = false;
}

/// The look-up may be gone afterwards.
void KeyLookups::send_or_fail(Pending& pending) noexcept {
    const KeyDigest key = pending.key;
    const bool sent = client_.connection().is_reachable() && guarded(client_.log(), false, [&] {
                          send(pending);
                          return true;
                      });
    if (!sent) {
        fail(key);
    }
}

void KeyLookups::send(Pending& pending) {
    pending.call = ++last_call_;
    auto call = std::make_unique<Call>(*this, pending.key, pending.call);
    redis::Call command{&redis::lookup_script(), {client_.conf().keys.key(hex(pending.key))}};
    client_.statistics().lookups.add();
    client_.connection().run(std::move(command), std::move(call));
}

/// Asks the waiters from the first on, until one wants the look-up; lets the others leave.
bool KeyLookups::is_wanted(Pending& pending) noexcept {
    while (auto* waiter = first_of<KeyWaiter>(pending.waiters)) {
        if (waiter->on_turn()) {
            return true;
        }
        waiter->leave_lookup();
    }
    return false;
}

void KeyLookups::forget(Pending& pending) noexcept {
    const KeyDigest key = pending.key;  // a look-up is destroyed with its key
    pending_.erase(key);
}

/// Ends a look-up, and tells each request that waits for it.
template <typename Tell>
void KeyLookups::finish(const KeyDigest& key, Tell tell) noexcept {
    auto ended = pending_.extract(key);
    if (ended.empty()) {
        return;
    }
    while (auto* waiter = first_of<KeyWaiter>(ended.mapped().waiters)) {
        waiter->leave_lookup();
        tell(*waiter);
    }
}

void KeyLookups::fail(const KeyDigest& key) noexcept {
    finish(key, [](KeyWaiter& waiter) { waiter.on_lookup_failed(); });
}

/// The look-up that waits for this call; nullptr where it has ended.
KeyLookups::Pending* KeyLookups::pending_of(const Call& call) noexcept {
    const auto place = pending_.find(call.key());
    const bool is_same = place != pending_.end() && place->second.call == call.number();
    return is_same ? &place->second : nullptr;
}

void KeyLookups::fail(const Call& call) noexcept {
    if (pending_of(call) != nullptr) {
        fail(call.key());
    }
}

/// The call will never be answered. Nobody may join its look-up, and its waiters are told soon.
void KeyLookups::lose(const Call& call) noexcept {
    if (Pending* pending = pending_of(call)) {
        pending->is_lost = true;
        loss_.post();
    }
}

void KeyLookups::fail_lost() noexcept {
    const auto is_lost = [](const auto& place) { return place.second.is_lost; };
    for (auto lost = std::ranges::find_if(pending_, is_lost); lost != pending_.end();
         lost = std::ranges::find_if(pending_, is_lost)) {
        fail(lost->first);
    }
    send_waiting();
}

/// False where the answer is none.
bool KeyLookups::take_answer(const Call& call, std::span<const redisReply* const> values) {
    const redis::Lookup lookup = redis::read_lookup(values);
    if (lookup.outcome == redis::Lookup::Outcome::kUnexpected) {
        client_.report("unexpected reply");
        return false;
    }
    if (lookup.outcome == redis::Lookup::Outcome::kMalformed) {
        const auto name = client_.conf().keys.key(hex(call.key()));
        ngx_log_error(NGX_LOG_ERR, client_.log(), 0,
                      "tollgate: redis \"%s\": malformed record of a key, which is refused: %s",
                      client_.conf().endpoint.name.c_str(), name.c_str());
    }
    const bool is_current = keep(call, lookup);
    Pending* pending = pending_of(call);
    if (pending == nullptr) {
        return true;
    }
    if (!is_current && !std::exchange(pending->was_repeated, true)) {
        send_or_fail(*pending);
        return true;
    }
    finish(call.key(), [&](KeyWaiter& waiter) { waiter.on_record(lookup); });
    return true;
}

/// Puts the answer into the zone. False where `events` told of a change after the call was made:
/// the answer may be older than that.
bool KeyLookups::keep(const Call& call, const redis::Lookup& lookup) const {
    const KeyCache::Key key{client_.conf().name_hash, call.key()};
    const bool found = lookup.outcome == redis::Lookup::Outcome::kFound;
    const MainConf& main = client_.main();
    KeyCache::Found ended;
    bool is_current = false;
    {
        const LockedZone zone(main);
        auto changed = zone.changes().last(key.redis, key.digest);
        if (found) {
            changed = std::max(changed, zone.changes().last(key.redis, id_hash(lookup.record.id)));
            zone.keys().put(key, lookup.record, call.asked(),
                            [&](std::uint32_t redis, const KeyCache::Found& other) {
                                return !held_quotas(main, zone, redis, other).empty();
                            });
        } else {
            zone.keys().find(key, call.asked(), ended);
            zone.keys().put_unknown(key, call.asked());
        }
        is_current = call.asked() > changed;
    }
    if (ended.exists) {
        client_.settlement().settle_ended(ended, key.hash());
    }
    return is_current;
}

}  // namespace tollgate::http
