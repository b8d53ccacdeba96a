#include "module/redis/topology/cluster_router.hpp"

#include <algorithm>
#include <utility>

#include "module/redis/protocol/error_scope.hpp"

namespace tollgate::redis {

/// A call that was sent to one server.
class ClusterRouter::Attempt final : public ReplyHandler {
  public:
    Attempt(ClusterRouter& router, RoutedCall routed)
        : router_(router), routed_(std::move(routed)) {}

    void on_values(ReplyValues values) noexcept override { routed_.handler->on_values(values); }
    void on_error(std::string_view message) noexcept override {
        if (has_timed_out_) {
            routed_.handler->on_error(message);  // Nobody waits for another attempt.
        } else {
            router_.retry(std::move(routed_), message);
        }
    }
    void on_failure() noexcept override {
        router_.request_refresh();  // A replica may replace the master.
        routed_.handler->on_failure();
    }
    void on_unsent() noexcept override {
        router_.request_refresh();
        routed_.handler->on_unsent();
    }
    bool on_timeout() noexcept override {
        router_.request_refresh();
        has_timed_out_ = routed_.handler->on_timeout();
        return has_timed_out_;
    }

  private:
    ClusterRouter& router_;
    RoutedCall routed_;
    bool has_timed_out_ = false;
};

ClusterRouter::ClusterRouter(std::uint32_t name, std::chrono::milliseconds timeout,
                             ClusterServers& servers, const Environment& environment,
                             std::uint32_t seed)
    : name_(name),
      timeout_(timeout),
      servers_(servers),
      environment_(environment),
      random_(seed),
      schedule_(now()),
      timer_(environment.events.make_timer([this] { on_timer(); })) {
    timer_->post();
}

ClusterRouter::~ClusterRouter() = default;

bool ClusterRouter::is_reachable(Slot slot) const noexcept {
    const ClusterServer* master = master_of(slot);
    return master != nullptr ? master->is_reachable() : !has_map_ && !has_failed_;
}

std::uint32_t ClusterRouter::master_name(Slot slot) const noexcept {
    const ClusterServer* master = master_of(slot);
    return master != nullptr ? master->name() : name_;
}

void ClusterRouter::report_failure(Slot slot, std::string_view error) noexcept {
    if (ClusterServer* master = master_of(slot)) {
        master->report_failure(error);
    }
    request_refresh();
}

void ClusterRouter::run(Slot slot, Call call, std::unique_ptr<ReplyHandler> handler) noexcept {
    send({slot, std::move(call), std::move(handler), CallRetries(now() + timeout_)});
}

std::optional<std::chrono::microseconds> ClusterRouter::map_age() const {
    return has_map_ ? std::optional(std::chrono::floor<std::chrono::microseconds>(now() - read_at_))
                    : std::nullopt;
}

ClusterServer* ClusterRouter::master_of(Slot slot) const noexcept {
    const auto index = map_.master_of(slot);
    return index ? masters_[*index] : nullptr;
}

/// The connection to a server that has this slot. Throws std::bad_alloc.
ClusterServer& ClusterRouter::server(const ServerAddress& address, Slot slot) {
    auto known = connected_.find(address);
    if (known == connected_.end()) {
        known = connected_.emplace(address, servers_.connect(address, slot)).first;
    }
    return *known->second;
}

/// Sends a call to the master of its slot. Without one, the call waits for a new map.
void ClusterRouter::send(RoutedCall routed) noexcept {
    if (ClusterServer* master = master_of(routed.slot)) {
        send_to(*master, std::move(routed));
        return;
    }
    request_refresh();
    wait({std::move(routed), now() + timeout_, true, true});
}

void ClusterRouter::send_to(ClusterServer& server, RoutedCall routed) noexcept {
    std::unique_ptr<Attempt> attempt;
    Call call;
    const bool is_ready = tollgate::attempt(environment_.log, [&] {
        call = routed.call;
        attempt = std::make_unique<Attempt>(*this, std::move(routed));
    });
    if (is_ready) {
        server.run(std::move(call), std::move(attempt));
    } else if (routed.handler) {
        routed.handler->on_unsent();
    }
}

/// A server answered with an error and has not executed the call.
void ClusterRouter::retry(RoutedCall routed, std::string_view error) noexcept {
    using Kind = CallRetries::Next::Kind;
    routed.call.asking = false;
    ErrorAction action = error_action(error);
    std::optional<Redirection> redirection;
    if (action == ErrorAction::kMoved || action == ErrorAction::kAsk) {
        redirection = read_redirection(routed.slot, error);
        if (!redirection) {
            action = ErrorAction::kRediscover;
        }
    }
    const CallRetries::Next next = routed.retries.next(action, now());
    if (next.kind == Kind::kGiveUp) {
        routed.handler->on_error(error);
    } else if (next.kind == Kind::kSendNow) {
        redirect(std::move(routed), action, *redirection);
    } else {
        const bool awaits_map = action == ErrorAction::kRediscover;
        if (awaits_map) {
            request_refresh();
        }
        wait({std::move(routed), next.at, awaits_map, false});
    }
}

/// Nothing if the message names no server that a client may use, or if memory is short.
std::optional<Redirection> ClusterRouter::read_redirection(Slot slot,
                                                           std::string_view error) noexcept {
    std::optional<Redirection> redirection;
    attempt(environment_.log, [&] {
        const auto index = map_.master_of(slot);
        redirection = redis::read_redirection(
            error, index ? std::string_view(map_.masters()[*index].host) : std::string_view());
    });
    return redirection;
}

/// Follows MOVED, which corrects the slot, or ASK.
void ClusterRouter::redirect(RoutedCall routed, ErrorAction action,
                             const Redirection& redirection) noexcept {
    servers_.on_redirection();
    ClusterServer* target = nullptr;
    attempt(environment_.log, [&] {
        target = &server(redirection.server, redirection.slot);
        if (action == ErrorAction::kMoved) {
            masters_.reserve(map_.masters().size() + 1);
            if (const auto moved = map_.assign(redirection.slot, redirection.server)) {
                masters_.resize(map_.masters().size());
                masters_[*moved] = target;
            }
        }
    });
    request_refresh();
    if (target == nullptr) {
        routed.handler->on_unsent();
        return;
    }
    routed.call.asking = action == ErrorAction::kAsk;
    send_to(*target, std::move(routed));
}

void ClusterRouter::wait(Waiting waiting) noexcept {
    const Time at = waiting.at;
    const bool is_kept = attempt(environment_.log, [&] { waiting_.push_back(std::move(waiting)); });
    if (!is_kept) {
        waiting.routed.handler->on_unsent();  // NOLINT(bugprone-use-after-move): not moved
        return;
    }
    first_waiting_ = std::min(first_waiting_, at);
    schedule();
}

/// Sends the calls whose time has come, and those that wait for a map if there is a new one.
void ClusterRouter::send_waiting(bool has_new_map) noexcept {
    const Time time = now();
    auto all = std::exchange(waiting_, {});
    first_waiting_ = Time::max();
    for (Waiting& waiting : all) {
        const bool has_master =
            has_new_map && waiting.awaits_map && master_of(waiting.routed.slot) != nullptr;
        if (!has_master && waiting.at > time) {
            wait(std::move(waiting));
        } else if (!has_master && waiting.is_last) {
            waiting.routed.handler->on_unsent();
        } else {
            send(std::move(waiting.routed));
        }
    }
}

void ClusterRouter::servers_changed() noexcept {
    if (!has_map_ || has_failed_) {
        schedule_.restart(now());
        schedule();
    }
}

void ClusterRouter::request_refresh() noexcept {
    schedule_.request(now());
    schedule();
}

/// Begins a refresh if one is due: asks a master, then the others, then the configured servers.
void ClusterRouter::refresh() noexcept {
    if (!schedule_.begin(now())) {
        return;
    }
    const bool is_begun = attempt(environment_.log, [&] {
        unasked_ = servers_.configured();
        const auto masters = map_.masters();
        unasked_.insert(unasked_.end(), masters.begin(), masters.end());
        const auto known = unasked_.end() - static_cast<std::ptrdiff_t>(masters.size());
        std::shuffle(known, unasked_.end(), random_);
        // A server that is unreachable is asked after the others.
        std::stable_partition(known, unasked_.end(), [&](const ServerAddress& address) {
            const auto place = connected_.find(address);
            return place != connected_.end() && !place->second->is_reachable();
        });
    });
    if (!is_begun) {
        unasked_.clear();
    }
    ask_next();
}

void ClusterRouter::ask_next() noexcept {
    while (!unasked_.empty()) {
        const ServerAddress address = std::move(unasked_.back());
        unasked_.pop_back();
        if (attempt(environment_.log, [&] { servers_.read_slot_map(address, *this); })) {
            return;
        }
    }
    schedule_.failed(now(), random());
    has_failed_ = true;
    schedule();
}

void ClusterRouter::on_no_slot_map() noexcept {
    ask_next();
}

void ClusterRouter::on_slot_map(SlotMap map) noexcept {
    unasked_.clear();
    std::vector<ClusterServer*> masters;
    // A new connection may call back: the old map is in use until all masters are connected.
    const bool is_usable = attempt(environment_.log, [&] {
        masters.resize(map.masters().size());
        for (Slot slot = 0; slot < kSlots; ++slot) {
            const auto index = map.master_of(slot);
            if (index && masters[*index] == nullptr) {
                masters[*index] = &server(map.masters()[*index], slot);
            }
        }
    });
    if (!is_usable) {
        schedule_.failed(now(), random());
        schedule();
        return;
    }
    map_ = std::move(map);
    masters_ = std::move(masters);
    has_map_ = true;
    read_at_ = now();
    has_failed_ = false;
    schedule_.succeeded(now(), random());
    servers_.on_masters(map_.masters());
    send_waiting(true);
    schedule();
}

bool ClusterRouter::has_unreachable_master() const noexcept {
    return std::ranges::any_of(masters_, [](const ClusterServer* master) {
        return master != nullptr && !master->is_reachable();
    });
}

void ClusterRouter::on_timer() noexcept {
    std::erase_if(connected_, [&](const auto& place) {
        return place.second->is_idle() &&
               std::ranges::find(masters_, place.second.get()) == masters_.end();
    });
    if (has_unreachable_master()) {
        schedule_.request(now());
    }
    refresh();
    send_waiting(false);
    schedule();
}

void ClusterRouter::schedule() noexcept {
    constexpr std::chrono::milliseconds kLongest{500};
    const Time time = now();
    Time next = std::min(time + kLongest, first_waiting_);
    if (const auto due = schedule_.due()) {
        next = std::min(next, *due);
    }
    timer_->start(std::max(std::chrono::ceil<std::chrono::milliseconds>(next - time),
                           std::chrono::milliseconds(0)));
}

}  // namespace tollgate::redis
