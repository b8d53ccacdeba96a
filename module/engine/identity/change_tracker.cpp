#include "module/engine/identity/change_tracker.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "module/redis/protocol/changed_names.hpp"
#include "module/redis/protocol/schema.hpp"

namespace tollgate::engine {

namespace {

using std::chrono::milliseconds;

constexpr milliseconds kRetry{250};
/// How long a record may be used while a change of it could be missed.
constexpr SteadyTime kUnsubscribed{1000};
/// The age of a change is known to the ms.
constexpr milliseconds kTick{1};
/// The loss of a subscription is noticed within two seconds, and a change is recorded with the time
/// at which its command began. The clocks of two masters may differ.
constexpr milliseconds kMargin = std::chrono::minutes(1);
/// Changes are recorded for an hour.
constexpr milliseconds kKept = std::chrono::hours(1) - kMargin;
/// The largest number of pages of changes that are read: 10,000 names. If more names have changed,
/// it costs less to look up every key again.
constexpr int kMostPages = 25;

}  // namespace

class ChangeTracker::Reply final : public NodeCall::Reply {
  public:
    Reply(ChangeTracker& tracker, std::uint64_t number, Page page)
        : tracker_(tracker),
          number_(number),
          page_(std::move(page)),
          sent_(tracker.context_.clock().steady()) {}

    void on_result(redis::ReplyValues values) noexcept override {
        if (is_current() && !attempt(log(), [&] { tracker_.take(page_, sent_, values); })) {
            tracker_.forget_gap();
        }
    }
    void on_refusal(std::string_view /*error*/) noexcept override {
        if (is_current()) {
            tracker_.forget_gap();
        }
    }
    void on_failure() noexcept override {
        if (is_current()) {
            tracker_.retry_->start(kRetry);
        }
    }

  private:
    /// Whether neither the subscription nor the master has changed since.
    bool is_current() const { return tracker_.reading_ == number_; }
    Log& log() const { return tracker_.context_.log(); }

    ChangeTracker& tracker_;
    std::uint64_t number_;
    Page page_;
    ExactSteadyTime sent_;
};

ChangeTracker::ChangeTracker(EngineContext& context)
    : context_(context),
      calls_(context, LogLevel::kWarning,
             "missed changes cannot be read; all cached keys are looked up again: "),
      shared_(context.zone().redis(context.settings().name_hash)),
      started_(context.steady_time()),
      retry_(context.make_timer([this] { read(); })),
      subscription_(context, *this) {
    ChangeTracker::is_informed(started_);
}

bool ChangeTracker::is_fresh(SteadyTime checked, SteadyTime now) const {
    const auto since = complete_since(now);
    const SteadyTime cached = context_.settings().key_cache;
    return now - checked < (since && checked > *since ? cached : std::min(cached, kUnsubscribed));
}

void ChangeTracker::on_change(std::string_view name) noexcept {
    const SteadyTime now = context_.steady_time();
    const bool is_noted = attempt(context_.log(), [&] {
        const LockedNode node(context_.zone());
        if (name.starts_with(redis::kBanKey)) {
            // A new ban: what the node holds of the id is outdated, but its records are not.
            node.changes().note(context_.settings().name_hash, name.substr(redis::kBanKey.size()),
                                now, SteadyTime{});
        } else {
            node.changes().note(context_.settings().name_hash, name, now);
        }
    });
    if (!is_noted) {
        forget(now);
    }
}

void ChangeTracker::on_subscribed(bool is_subscribed) noexcept {
    begin_gap();
    is_subscribed_ = subscription_.on_subscribed(is_subscribed) && is_subscribed;
    if (is_subscribed_ || (has_moved_ && !subscription_.is_claimed())) {
        read();
    }
}

void ChangeTracker::on_moved(std::uint32_t master) noexcept {
    begin_gap();
    if (!std::exchange(has_moved_, true)) {
        moved_ = gap_ended_;
    }
    subscription_.on_moved(master);
    if (is_subscribed_ || !subscription_.is_claimed()) {
        retry_->post();  // The caller may not expect a call now.
    }
}

/// What concerns this worker alone is still to be read.
void ChangeTracker::on_replaced() noexcept {
    begin_gap();
    is_subscribed_ = false;
    if (has_moved_) {
        retry_->post();
    }
}

/// A killed worker may have left look-ups of a former master, and nobody knows of its move. So each
/// worker that starts forgets what was looked up before, once the node hears of changes.
bool ChangeTracker::is_informed(SteadyTime now) noexcept {
    if (!is_introduced_ && subscription_.is_complete(now)) {
        is_introduced_ = true;
        forget(started_);
    }
    return is_introduced_ && !has_moved_;
}

/// What is being read is not enough any more.
void ChangeTracker::begin_gap() noexcept {
    retry_->cancel();
    ++reading_;
    gap_ended_ = context_.steady_time();
}

/// Asks Redis which records have changed since the gap began.
void ChangeTracker::read() noexcept {
    if (!attempt(context_.log(), [&] { read_page({}); })) {
        forget_gap();
    }
}

/// The gap is the one of the node, if this worker subscribes for it, and that of this worker's
/// move. After a move, nobody knows for how long the former master had been deposed.
void ChangeTracker::read_page(const Page& page) {
    const NodeSubscription::Gap gap = subscription_.gap();
    const bool has_moved = has_moved_ || (is_subscribed_ && gap.has_moved);
    const SteadyTime moved = has_moved_ ? moved_ : gap_ended_;
    const SteadyTime began = is_subscribed_ ? std::min(moved, gap.began) : moved;
    const milliseconds age = context_.steady_time() - began + kMargin;
    if (began == SteadyTime{} || age > kKept) {
        forget_gap();
        return;
    }
    const std::string key = context_.settings().keys.changes();
    redis::Call call{&redis::changes_script(), {key}};
    call.arguments.add((has_moved ? kKept : age).count());
    call.arguments.add(page.start);
    calls_.run(context_.slot_of_key(key), std::move(call),
               std::make_unique<Reply>(*this, ++reading_, page));
}

/// Notes the changes of this page, and asks for the next one.
void ChangeTracker::take(const Page& page, ExactSteadyTime sent, redis::ReplyValues values) {
    const ExactSteadyTime received = context_.clock().steady();
    const auto changed = redis::read_changed_names(values);
    if (!changed) {
        forget_gap();
        return;
    }
    for (const auto& [name, age] : changed->names) {
        // A look-up after the change gave the present record. But while Redis is reachable, it is
        // repeated: the clocks of two masters may differ.
        const ExactSteadyTime error = RedisClock::drift_within(age) + kTick;
        const LockedNode node(context_.zone());
        node.changes().note_read(context_.settings().name_hash, name,
                                 std::chrono::floor<SteadyTime>(received),
                                 std::chrono::floor<SteadyTime>(sent - age - error),
                                 std::chrono::floor<SteadyTime>(received - age + error));
    }
    if (!changed->next) {
        end_gap();
    } else if (*changed->next == page.start || page.number == kMostPages) {
        forget_gap();  // A page that begins with 400 changes of one ms leads no further.
    } else {
        read_page({page.number + 1, std::string(*changed->next)});
    }
}

/// The missed changes are not known.
void ChangeTracker::forget_gap() noexcept {
    forget(gap_ended_);
    end_gap();
}

/// All that was missed is noted.
void ChangeTracker::end_gap() noexcept {
    has_moved_ = false;
    if (is_subscribed_) {
        subscription_.elect();
    }
}

/// All workers look up records again that were looked up until then.
void ChangeTracker::forget(SteadyTime until) noexcept {
    const LockedNode node(context_.zone());
    shared_.forgotten_until.set(std::max(shared_.forgotten_until.value(), until.count()));
}

}  // namespace tollgate::engine
