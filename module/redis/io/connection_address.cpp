// Selects the address of a connection: tests whether its server accepts writes, tries the next one
// after READONLY, and moves when the address in use leaves the list.

#include <exception>
#include <string_view>
#include <utility>

#include "module/redis/io/connection.hpp"

namespace tollgate::redis {

namespace {

std::string_view address_name(const Link& link) {
    return link.address() ? link.address()->name() : "-";
}

}  // namespace

/// Another address may be another server, with another clock.
bool Connection::needs_probe() const noexcept {
    return breaker_.state() != Breaker::State::kClosed || accepted_ != link_->address();
}

void Connection::on_accepted(const std::optional<ObservedTime>& time) noexcept {
    state_.on_accepted();
    note_accepted(time);
    on_successor_change();
}

void Connection::on_not_accepted(std::string_view reason) noexcept {
    link_->give_up(reason);
}

void Connection::note_accepted(const std::optional<ObservedTime>& time) noexcept {
    const bool is_elsewhere = accepted_ != link_->address();
    accepted_ = link_->address();
    if (time) {
        listener_.on_time(time->sent, time->received, time->time);
    }
    if (is_elsewhere) {
        listener_.on_moved();
    }
    if (breaker_.record_success()) {
        listener_.on_breaker_close();
    }
}

/// After READONLY, uses another address at once: each one once, until one accepts writes. Calls
/// that were not written yet are sent there.
bool Connection::try_next_address(bool is_readonly) noexcept {
    if (!is_readonly || link_->is_shutting_down() || (untried_ == 0 && !is_moving())) {
        untried_ = other_addresses();
        return false;
    }
    listener_.on_error();
    pipeline_.fail_lost(Pipeline::Clock::now());
    if (is_moving() && successor_->is_usable()) {
        reconnect();
    } else {
        if (!is_moving()) {
            --untried_;
        }
        successor_.reset();
        link_->connect();
    }
    watch_deadlines();
    return true;
}

void Connection::follow_addresses() noexcept {
    if (link_->is_shutting_down() || addresses_.empty()) {
        return;
    }
    if (link_->is_down()) {
        untried_ = other_addresses();
        link_->connect();
        watch_deadlines();
    } else if (link_->has_listed_address()) {
        successor_.reset();
        on_successor_change();
    } else if (link_->is_ready()) {
        start_move();
    } else {
        link_->connect_anew();  // The server at the old address may never answer.
        watch_deadlines();
    }
}

void Connection::start_move() noexcept {
    if (successor_ != nullptr && successor_->address() &&
        contains(addresses_, *successor_->address())) {
        return;
    }
    try {
        successor_ = std::make_unique<Successor>(access_, addresses_, probe_key_, traits_.limits,
                                                 static_cast<SuccessorOwner&>(*this));
    } catch (const std::exception& e) {
        link_->give_up(e.what());
    }
}

/// While the successor is usable, new calls are held, until the old link is idle.
void Connection::on_successor_change() noexcept {
    state_.on_successor(successor_ != nullptr && successor_->is_usable());
    release();
    move_when_answered();
}

bool Connection::may_move() const noexcept {
    return successor_ != nullptr && successor_->is_usable() && state_.may_move() &&
           !pipeline_.has_released();
}

/// An event, because the old link may be reading.
void Connection::move_when_answered() noexcept {
    if (may_move()) {
        move_event_.post();
    }
}

void Connection::take_successor() noexcept {
    if (!may_move()) {
        return;
    }
    const auto successor = std::exchange(successor_, nullptr);
    const auto old = std::exchange(link_, successor->take_link());
    link_->set_owner(*this);
    state_.on_moved();
    const std::string_view from = address_name(*old);
    const std::string_view to = address_name(*link_);
    ngx_log_error(NGX_LOG_NOTICE, access_.log, 0, "tollgate: redis \"%s\": moved from %*s to %*s",
                  access_.conf.name.c_str(), from.size(), from.data(), to.size(), to.data());
    note_accepted(successor->time());
    listener_.on_connected(false);
    release();
    watch_deadlines();
}

}  // namespace tollgate::redis
