#include "module/engine/identity/key_lookups.hpp"

#include <algorithm>
#include <utility>

#include "module/engine/identity/group_finder.hpp"
#include "module/key/digest.hpp"

namespace tollgate::engine {

/// One call for a key's record. It refers to the look-up by key and number: the look-up may have
/// failed before the reply comes.
class LookupCall : public NodeCall::Reply {
  public:
    LookupCall(KeyLookups& lookups, const KeyLookups::Pending& pending, redis::Slot slot)
        : lookups_(lookups),
          key_(pending.key),
          group_(pending.group),
          slot_(slot),
          number_(pending.call),
          sent_(lookups.context_.steady_time()) {
        ++lookups_.calls_;
    }
    /// Does not call waiters: the code that destroys the call may not expect callbacks.
    ~LookupCall() override {
        if (!has_ended_) {
            end();
            lookups_.on_call_lost(*this);
        }
    }
    LookupCall(const LookupCall&) = delete;
    LookupCall& operator=(const LookupCall&) = delete;

    const KeyDigest& key() const { return key_; }
    /// Empty: the record is that of a key.
    const std::string& group() const { return group_; }
    redis::Slot slot() const { return slot_; }
    std::uint64_t number() const { return number_; }
    SteadyTime sent() const { return sent_; }

    void on_result(redis::ReplyValues values) noexcept override {
        end();
        bool is_record = false;
        const bool done = attempt(lookups_.context_.log(),
                                  [&] { is_record = lookups_.apply_reply(*this, values); });
        if (!done || !is_record) {
            lookups_.fail(*this);
        }
        lookups_.send_queued();
    }
    void on_failure() noexcept override {
        end();
        lookups_.fail(*this);
        lookups_.send_queued();
    }

  private:
    void end() noexcept {
        if (!std::exchange(has_ended_, true)) {
            --lookups_.calls_;
        }
    }

    KeyLookups& lookups_;
    KeyDigest key_;
    std::string group_;
    redis::Slot slot_;
    std::uint64_t number_;
    SteadyTime sent_;
    bool has_ended_ = false;
};

void LookupWaiter::leave_lookup() noexcept {
    if (pending_ == nullptr) {
        return;
    }
    leave_list();
    const Pending* pending = std::exchange(pending_, nullptr);
    if (pending->is_in_list() && pending->waiters.empty()) {
        pending->lookups.drop(*pending);
    }
}

KeyLookups::KeyLookups(EngineContext& context)
    : context_(context), loss_(context.make_timer([this] { fail_lost(); })) {}

KeyLookups::~KeyLookups() {
    for (auto& [key, pending] : pending_) {
        pending.waiters.drain([](LookupWaiter& waiter) { waiter.pending_ = nullptr; });
    }
}

void KeyLookups::submit(LookupWaiter& waiter, const KeyDigest& key, Priority priority,
                        std::string_view group) {
    const auto [place, is_new] = pending_.try_emplace(key, *this, key, group);
    Pending& pending = place->second;
    pending.waiters.push(waiter);
    waiter.pending_ = &pending;
    if (is_new) {
        queues_[static_cast<std::size_t>(priority)].push(pending);
        send_queued();
    }
}

KeyLookups::Pending* KeyLookups::next_queued() {
    for (const WaitList<Pending>& queue : queues_) {
        if (!queue.empty()) {
            return &queue.front();
        }
    }
    return nullptr;
}

/// Sends what may be sent now. A call that fails at once enters this function again.
void KeyLookups::send_queued() noexcept {
    if (std::exchange(is_sending_, true)) {
        return;
    }
    while (calls_ < kMostCalls) {
        Pending* pending = next_queued();
        if (pending == nullptr) {
            break;
        }
        pending->leave_list();
        if (is_needed(*pending)) {
            send_or_fail(*pending);
        } else {
            drop(*pending);
        }
    }
    is_sending_ = false;
}

/// May destroy the look-up.
void KeyLookups::send_or_fail(Pending& pending) noexcept {
    const KeyDigest key = pending.key;
    bool is_sent = false;
    attempt(context_.log(), [&] { is_sent = send(pending); });
    if (!is_sent) {
        fail(key);
    }
}

/// The name of the record in Redis.
std::string KeyLookups::name_of(const KeyDigest& key, const std::string& group) const {
    const redis::Keys& keys = context_.settings().keys;
    return group.empty() ? keys.key(hex(key)) : keys.group(group);
}

/// False if Redis is unreachable.
bool KeyLookups::send(Pending& pending) {
    const bool is_group = !pending.group.empty();
    const redis::Slot slot =
        is_group ? context_.slot_of(pending.group) : context_.slot_of(pending.key);
    if (!context_.transport().is_reachable(slot)) {
        return false;
    }
    pending.call = ++last_call_;
    auto handler = std::make_unique<LookupCall>(*this, pending, slot);
    redis::Call call{&redis::lookup_script(), {name_of(pending.key, pending.group)}};
    context_.statistics()["commands.lookup"].add();
    requests_.run(slot, std::move(call), std::move(handler));
    return true;
}

/// Asks the waiters in turn until one needs the look-up; the others leave.
bool KeyLookups::is_needed(Pending& pending) noexcept {
    while (!pending.waiters.empty()) {
        LookupWaiter& waiter = pending.waiters.front();
        if (waiter.on_turn()) {
            return true;
        }
        waiter.leave_lookup();
    }
    return false;
}

void KeyLookups::drop(const Pending& pending) noexcept {
    const KeyDigest key = pending.key;  // erase() must not refer to what it destroys.
    pending_.erase(key);
}

/// Ends a look-up and notifies each of its waiters.
template <typename Notify>
void KeyLookups::finish(const KeyDigest& key, Notify notify) noexcept {
    auto ended = pending_.extract(key);
    if (ended.empty()) {
        return;
    }
    WaitList<LookupWaiter>& waiters = ended.mapped().waiters;
    while (!waiters.empty()) {
        LookupWaiter& waiter = waiters.front();
        waiter.leave_lookup();
        notify(waiter);
    }
}

void KeyLookups::fail(const KeyDigest& key) noexcept {
    finish(key, [](LookupWaiter& waiter) { waiter.on_lookup_failed(); });
}

/// The look-up that waits for this call; nullptr if it has ended.
KeyLookups::Pending* KeyLookups::pending_of(const LookupCall& call) noexcept {
    const auto place = pending_.find(call.key());
    const bool is_same = place != pending_.end() && place->second.call == call.number();
    return is_same ? &place->second : nullptr;
}

void KeyLookups::fail(const LookupCall& call) noexcept {
    if (pending_of(call) != nullptr) {
        fail(call.key());
    }
}

/// The call will never be answered. Its waiters are notified at the end of this turn.
void KeyLookups::on_call_lost(const LookupCall& call) noexcept {
    if (Pending* pending = pending_of(call)) {
        pending->is_lost = true;
        loss_->post();
    }
}

void KeyLookups::fail_lost() noexcept {
    const auto is_lost = [](const auto& place) { return place.second.is_lost; };
    for (auto lost = std::ranges::find_if(pending_, is_lost); lost != pending_.end();
         lost = std::ranges::find_if(pending_, is_lost)) {
        fail(lost->first);
    }
    send_queued();
}

/// False if the reply is not a record.
bool KeyLookups::apply_reply(const LookupCall& call, redis::ReplyValues values) {
    const redis::Lookup lookup = redis::read_lookup(values);
    if (lookup.outcome == redis::Lookup::Outcome::kUnexpected) {
        context_.report_error(call.slot(), "unexpected reply");
        return false;
    }
    if (lookup.outcome == redis::Lookup::Outcome::kMalformed) {
        const std::string_view problem = call.group().empty()
                                             ? "malformed record of a key, which is refused: "
                                             : "malformed record of a group, which is not used: ";
        context_.report_record(std::string(problem) + name_of(call.key(), call.group()));
    }
    const bool is_current = cache(call, lookup);
    Pending* pending = pending_of(call);
    if (pending == nullptr) {
        return true;
    }
    if (!is_current && !std::exchange(pending->was_repeated, true)) {
        send_or_fail(*pending);
        return true;
    }
    finish(call.key(), [&](LookupWaiter& waiter) { waiter.on_record(lookup, call.sent()); });
    return true;
}

/// Puts the reply into the zone. False if `events` announced a change after the call was sent: the
/// reply may be older than the change.
bool KeyLookups::cache(const LookupCall& call, const redis::Lookup& lookup) const {
    Zone& zone = context_.zone();
    const KeyCache::Key key{context_.settings().name_hash, call.key()};
    const LockedStripe stripe(zone, key);
    auto changed = zone.last_change(key.redis, key.digest);
    if (!call.group().empty()) {
        stripe.keys().put(key, group_record(lookup, call.group()), call.sent());
    } else if (lookup.outcome == redis::Lookup::Outcome::kFound) {
        changed = std::max(changed, zone.last_change(key.redis, id_hash(lookup.record.id)));
        stripe.keys().put(key, lookup.record, call.sent());
    } else if (lookup.outcome == redis::Lookup::Outcome::kRevoked) {
        KeyRecord record = lookup.record;  // with the id, which the log names
        record.active = false;
        record.ended = KeyFault::kRevoked;
        stripe.keys().put(key, record, call.sent());
    } else {
        stripe.keys().put_unknown(key, call.sent());
    }
    return call.sent() > changed;
}

}  // namespace tollgate::engine
