#include "module/engine/anonymous/shared_budgets.hpp"

#include <algorithm>
#include <iterator>
#include <span>
#include <string>
#include <utility>

#include "module/redis/protocol/node_calls.hpp"
#include "module/zone/zone.hpp"

namespace tollgate::engine {

namespace {

/// The first charge of an address is told with others of the same time.
constexpr std::chrono::milliseconds kFirstToldAfter{10};
/// The next charges of the address are told together.
constexpr std::chrono::milliseconds kToldInterval{1000};
/// How often charges are looked for that may be told.
constexpr std::chrono::milliseconds kLookInterval{100};
/// A flood from many addresses: about 1 MiB of budgets to tell. Others are not shared.
constexpr std::size_t kMostToTell = 16'384;
/// The budgets that a turn looks at, and those in a call: about 200 us of Redis.
constexpr std::size_t kMostBudgetsExamined = 512;
constexpr std::size_t kMostBudgetsInCall = 64;

}  // namespace

/// What was told and gets no reply is not told again: it would count twice.
class SharedBudgets::Reply final : public NodeCall::Reply {
  public:
    Reply(SharedBudgets& owner, std::vector<Told> told) : owner_(owner), told_(std::move(told)) {}

    void on_result(redis::ReplyValues values) noexcept override {
        attempt(owner_.context_.log(), [&] { owner_.set_totals(told_, values); });
    }
    void on_failure() noexcept override {}

  private:
    SharedBudgets& owner_;
    std::vector<Told> told_;
};

SharedBudgets::SharedBudgets(EngineContext& context)
    : context_(context),
      calls_(context, LogLevel::kWarning, "budgets of addresses are not shared: "),
      timer_(context.make_timer([this] { on_timer(); })) {}

void SharedBudgets::note(const PlanTable& table, const ClientAddress& address) noexcept {
    attempt(context_.log(), [&] {
        const Owner owner{name_hash(table.name), address};
        if (pending_.size() < kMostToTell && !owners_.contains(owner)) {
            pending_.push_back({owner, &table});
            owners_.insert(owner);
        }
    });
    if (!std::exchange(is_waiting_, true)) {
        timer_->start(kFirstToldAfter);
    }
}

std::int64_t SharedBudgets::told_from(const Rate& rate) {
    constexpr std::int64_t kLeast = 2;
    const std::int64_t part = (rate.requests + kToldPart - 1) / kToldPart;
    return std::min(rate.requests, std::max(part, kLeast));
}

bool SharedBudgets::is_worth_telling(std::span<const WindowState> windows) {
    return std::ranges::any_of(windows, [](const WindowState& window) {
        return window.rate.requests - window.remaining >= told_from(window.rate);
    });
}

void SharedBudgets::on_timer() noexcept {
    attempt(context_.log(), [&] {
        auto told = take_charges();
        std::ranges::sort(told, {}, &Told::slot);
        for (auto first = told.begin(); first != told.end();) {
            const auto most = std::min(told.end() - first, std::ptrdiff_t{kMostBudgetsInCall});
            const auto last = std::find_if(
                first, first + most, [&](const Told& one) { return one.slot != first->slot; });
            send({std::make_move_iterator(first), std::make_move_iterator(last)});
            first = last;
        }
    });
    is_waiting_ = !pending_.empty();
    if (is_waiting_) {
        timer_->start(kLookInterval);
    }
}

/// The first pending charge is not to be told any more.
void SharedBudgets::end_front() noexcept {
    owners_.erase(pending_.front().owner);
    pending_.pop_front();
}

/// Adds the addresses that may be added to Redis since the last call.
void SharedBudgets::add_credit() {
    const SteadyTime now = context_.steady_time();
    const auto seconds = std::chrono::floor<std::chrono::seconds>(now - new_since_);
    new_left_ = std::min<std::int64_t>(kMostNew, new_left_ + seconds.count());
    new_since_ += seconds;
}

/// Takes what may be told now out of the zone. What cannot be told yet stays pending, after the
/// others: it must not delay them. An address that may not be added to Redis is dropped: its next
/// charge may be told, with this one.
std::vector<SharedBudgets::Told> SharedBudgets::take_charges() {
    add_credit();
    const Instant now = context_.clock().wall();
    std::vector<Told> told;
    for (std::size_t rest = std::min(pending_.size(), kMostBudgetsExamined); rest > 0; --rest) {
        const auto& [owner, table] = pending_.front();
        std::string address = address_text(owner.address);
        const redis::Slot slot = context_.slot_of(address);
        std::optional<AddressBudgets::Charge> charge;
        bool is_new = false;
        if (context_.transport().is_reachable(slot)) {
            const LockedStripe stripe(context_.zone(), owner);
            is_new = !stripe.addresses().was_told(owner, table->anonymous, now);
            charge = is_new && new_left_ == 0 ? AddressBudgets::Charge{}
                                              : stripe.addresses().take_charge(
                                                    owner, table->anonymous, now, kToldInterval);
        }
        if (!charge) {
            pending_.splice(pending_.end(), pending_, pending_.begin());
            continue;
        }
        if (!charge->empty()) {
            new_left_ -= is_new ? 1 : 0;
            told.push_back({slot, owner, table, std::move(address), *std::move(charge)});
        }
        end_front();
    }
    return told;
}

void SharedBudgets::send(std::vector<Told> batch) {
    redis::Call call = redis::budget_call();
    for (const Told& one : batch) {
        redis::add_budget(call, context_.settings().keys, {one.address, *one.table, one.charge});
    }
    const redis::Slot slot = batch.front().slot;
    auto reply = std::make_unique<Reply>(*this, std::move(batch));
    calls_.run(slot, std::move(call), std::move(reply));
}

void SharedBudgets::set_totals(const std::vector<Told>& told, redis::ReplyValues values) {
    std::size_t windows = 0;
    for (const Told& one : told) {
        windows += one.table->anonymous.size();
    }
    const auto totals = redis::read_budgets(values, windows);
    if (!totals) {
        context_.report_error(told.front().slot, "unexpected reply");
        return;
    }
    std::span<const std::int64_t> rest = *totals;
    for (const Told& one : told) {
        LockedStripe(context_.zone(), one.owner)
            .addresses()
            .set_totals(one.owner, one.table->anonymous, one.charge,
                        rest.first(one.table->anonymous.size()));
        rest = rest.subspan(one.table->anonymous.size());
    }
}

}  // namespace tollgate::engine
