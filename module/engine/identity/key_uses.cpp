#include "module/engine/identity/key_uses.hpp"

#include <algorithm>
#include <iterator>

#include "module/key/digest.hpp"
#include "module/redis/protocol/node_calls.hpp"

namespace tollgate::engine {

namespace {

/// How long uses are collected for one call.
constexpr std::chrono::milliseconds kWriteInterval{1000};
/// The uses in one call: about 100 us of Redis. A turn sends as many.
constexpr std::size_t kMostInCall = 64;
/// The uses that are sent in one interval. Many keys are first used at the begin of a minute: the
/// rest of them is spread over half of it, of the most that are kept over all of it.
constexpr std::size_t kLeastSent = 256;
constexpr std::size_t kShareSent = 30;
/// The uses whose masters a turn looks for.
constexpr std::size_t kMostExamined = 1024;

}  // namespace

class KeyUses::Reply final : public NodeCall::Reply {
  public:
    void on_result(redis::ReplyValues /*values*/) noexcept override {}
    // A later use of the key is written again.
    void on_failure() noexcept override {}
};

KeyUses::KeyUses(EngineContext& context)
    : context_(context),
      calls_(context, LogLevel::kWarning, "the last use of keys is not written: "),
      timer_(context.make_timer([this] { on_timer(); })) {}

KeyCache::Minute KeyUses::minute() const noexcept {
    constexpr std::int64_t kDistinct = 65'535;
    const auto minutes = std::chrono::floor<std::chrono::minutes>(context_.clock().wall());
    return static_cast<KeyCache::Minute>(minutes.time_since_epoch().count() % kDistinct + 1);
}

SteadyTime KeyUses::end_of_minute() const noexcept {
    const Instant now = context_.clock().wall();
    const auto next = std::chrono::floor<std::chrono::minutes>(now) + std::chrono::minutes(1);
    return context_.steady_time() + std::chrono::ceil<SteadyTime>(next - now);
}

void KeyUses::note(const KeyCache::Key& key, const KeyRecord& record, Kind kind) noexcept {
    const bool is_first = LockedStripe(context_.zone(), key).keys().note_use(key, minute());
    if (!is_first) {
        return;
    }
    if (record.retiring) {
        context_.statistics()["retiring_key_uses"].add();
    }
    attempt(context_.log(), [&] {
        if (pending_.size() + kept_.size() < kMostPending || pending_.contains(key.digest)) {
            pending_.insert_or_assign(key.digest, Use{record.id, context_.clock().steady(), kind});
        }
    });
    if (!std::exchange(is_waiting_, true)) {
        timer_->start(kWriteInterval);
    }
}

void KeyUses::on_timer() noexcept {
    if (!context_.may_reach_redis()) {
        timer_->start(kWriteInterval);
        return;
    }
    if (pending_.empty()) {
        take_kept();
    }
    send(kMostInCall, kMostExamined);
    is_waiting_ = !pending_.empty() || !kept_.empty();
    if (is_waiting_) {
        // In an interval, as many turns as it takes to send its share.
        const std::size_t turns = std::max(kLeastSent, pending_.size() / kShareSent) / kMostInCall;
        timer_->start(pending_.empty() ? kWriteInterval : kWriteInterval / static_cast<int>(turns));
    }
}

void KeyUses::shut_down() noexcept {
    take_kept();
    send(kMostPending, kMostPending);
}

/// Tries the masters again that were unreachable. Of two uses of a key, the later one is sent.
void KeyUses::take_kept() noexcept {
    if (pending_.empty()) {
        pending_.swap(kept_);
    } else {
        attempt(context_.log(), [&] { pending_.merge(kept_); });
    }
    kept_.clear();
}

/// Sends up to `most` uses to the masters that are reachable.
void KeyUses::send(std::size_t most, std::size_t examined) noexcept {
    attempt(context_.log(), [&] {
        const auto chosen = choose(most, examined);
        for (std::span<const Chosen> rest = chosen; !rest.empty();) {
            const auto first = rest.first(std::min(rest.size(), kMostInCall));
            const auto other = std::ranges::find_if(
                first, [&](const Chosen& use) { return use.slot != rest.front().slot; });
            const std::span batch(first.begin(), other);
            send_batch(batch);
            rest = rest.subspan(batch.size());
        }
    });
}

/// Sorted by slot: the keys of a call must be in one slot. Keeps those whose masters are
/// unreachable.
std::vector<KeyUses::Chosen> KeyUses::choose(std::size_t most, std::size_t examined) {
    std::vector<Chosen> chosen;
    auto use = pending_.begin();
    while (use != pending_.end() && chosen.size() < most && examined-- > 0) {
        const auto next = std::next(use);
        const redis::Slot slot = context_.slot_of(use->second.id);
        if (context_.transport().is_reachable(slot)) {
            chosen.push_back({slot, use});
        } else {
            kept_.erase(use->first);
            kept_.insert(pending_.extract(use));
        }
        use = next;
    }
    std::ranges::sort(chosen, {}, &Chosen::slot);
    return chosen;
}

void KeyUses::send_batch(std::span<const Chosen> batch) {
    const ExactSteadyTime now = context_.clock().steady();
    redis::Call call = redis::use_call();
    for (const Chosen& chosen : batch) {
        const auto& [digest, use] = *chosen.use;
        const std::string field =
            use.kind == Kind::kKey ? hex(digest) : std::string(redis::kSubjectUse);
        redis::add_use(call, context_.settings().keys, use.id, field,
                       std::chrono::floor<std::chrono::milliseconds>(now - use.at));
    }
    auto reply = std::make_unique<Reply>();
    const redis::Slot slot = batch.front().slot;
    for (const Chosen& chosen : batch) {
        pending_.erase(chosen.use);
    }
    calls_.run(slot, std::move(call), std::move(reply));
}

}  // namespace tollgate::engine
